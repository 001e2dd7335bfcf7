"""Small models of transformers with random weights, one of each kind of architecture: they run on the device whole,
eager and compiled, and compute what the CPU computes."""

import copy
import os

import pytest
import torch
from tolerances import relative_error, tolerance

os.environ["HF_HUB_OFFLINE"] = "1"
transformers = pytest.importorskip(
    "transformers", reason="no transformers in .venv; scripts/setup.sh installs it"
)

WORDS = 120
SIZES = dict(
    vocab_size=WORDS,
    hidden_size=64,
    intermediate_size=96,
    num_hidden_layers=2,
    num_attention_heads=4,
    max_position_embeddings=64,
)
GPT2 = dict(vocab_size=WORDS, n_embd=64, n_layer=2, n_head=4, n_positions=64)
T5 = dict(vocab_size=WORDS, d_model=64, d_kv=16, d_ff=96, num_layers=2, num_heads=4)
BART = dict(
    vocab_size=WORDS,
    d_model=64,
    encoder_layers=1,
    decoder_layers=1,
    encoder_attention_heads=4,
    decoder_attention_heads=4,
    encoder_ffn_dim=96,
    decoder_ffn_dim=96,
    max_position_embeddings=64,
)
VIT = dict(
    hidden_size=64,
    intermediate_size=96,
    num_hidden_layers=2,
    num_attention_heads=4,
    image_size=32,
    patch_size=8,
)
RESNET = dict(embedding_size=16, hidden_sizes=[16, 32], depths=[1, 1], layer_type="basic")


def model(kind, config, **sizes):
    return lambda: getattr(transformers, kind)(getattr(transformers, config)(**sizes))


def text():
    ids = torch.randint(5, WORDS, (2, 11), generator=torch.Generator().manual_seed(0))
    mask = torch.ones_like(ids)
    mask[1, 7:] = 0
    return dict(input_ids=ids, attention_mask=mask)


def text_to_text():
    return dict(**text(), decoder_input_ids=text()["input_ids"][:, :5])


def image():
    generator = torch.Generator().manual_seed(0)
    return dict(pixel_values=torch.randn(2, 3, 32, 32, generator=generator))


MODELS = {
    "roberta": (model("RobertaModel", "RobertaConfig", **SIZES), text),
    "gpt2": (model("GPT2LMHeadModel", "GPT2Config", **GPT2), text),
    "qwen2": (model("Qwen2ForCausalLM", "Qwen2Config", **SIZES, num_key_value_heads=2), text),
    "gemma2": (
        model(
            *("Gemma2ForCausalLM", "Gemma2Config"),
            **SIZES,
            num_key_value_heads=2,
            head_dim=16,
            sliding_window=8,
        ),
        text,
    ),
    "deberta": (
        model(
            *("DebertaV2Model", "DebertaV2Config"),
            **SIZES,
            relative_attention=True,
            pos_att_type=["p2c", "c2p"],
        ),
        text,
    ),
    "t5": (model("T5ForConditionalGeneration", "T5Config", **T5), text_to_text),
    "bart": (model("BartModel", "BartConfig", **BART), text_to_text),
    "vit": (model("ViTModel", "ViTConfig", **VIT), image),
    "resnet": (model("ResNetModel", "ResNetConfig", **RESNET), image),
}


# Mixtures of experts: which rows go to which expert is data.
EXPERTS = dict(**SIZES, num_key_value_heads=2)
MODELS["mixtral"] = (model("MixtralForCausalLM", "MixtralConfig", **EXPERTS, num_local_experts=4), text)
MODELS["granite moe"] = (
    model(
        *("GraniteMoeForCausalLM", "GraniteMoeConfig"), **EXPERTS, num_local_experts=4, num_experts_per_tok=2
    ),
    text,
)
# Windows so short that rows of padding see nothing.
MODELS["mistral"] = (model("MistralForCausalLM", "MistralConfig", **EXPERTS, sliding_window=4), text)
MODELS["xlnet"] = (
    model("XLNetModel", "XLNetConfig", vocab_size=WORDS, d_model=64, n_layer=2, n_head=4, d_inner=96),
    text,
)
MODELS["nystromformer"] = (model("NystromformerModel", "NystromformerConfig", **SIZES), text)




# Sound, and images: signals that are convolved, positions that are interpolated, windows that are rolled, maps of all sizes.
def spectrum():
    generator = torch.Generator().manual_seed(0)
    return dict(
        input_features=torch.randn(2, 8, 32, generator=generator), decoder_input_ids=text()["input_ids"][:, :5]
    )


def signal():
    return dict(input_values=torch.randn(1, 400, generator=torch.Generator().manual_seed(0)))


def larger_image():
    return dict(pixel_values=torch.randn(1, 3, 40, 40, generator=torch.Generator().manual_seed(0)))


def captioned_image():
    return dict(input_ids=text()["input_ids"], pixel_values=image()["pixel_values"])


WHISPER = dict(BART, num_mel_bins=8, max_source_positions=16, max_target_positions=16, pad_token_id=0, bos_token_id=1)
WHISPER.pop("max_position_embeddings")
MODELS["whisper"] = (
    model("WhisperModel", "WhisperConfig", **WHISPER, eos_token_id=2, decoder_start_token_id=1, use_cache=False),
    spectrum,
)
MODELS["wav2vec2"] = (
    model(
        *("Wav2Vec2Model", "Wav2Vec2Config"),
        **{name: size for name, size in SIZES.items() if name != "max_position_embeddings"},
        conv_dim=(16, 16),
        conv_stride=(5, 2),
        conv_kernel=(10, 3),
        num_feat_extract_layers=2,
        num_conv_pos_embeddings=16,
        num_conv_pos_embedding_groups=2,
    ),
    signal,
)
MODELS["dinov2"] = (model("Dinov2Model", "Dinov2Config", **VIT), larger_image)
MODELS["swin"] = (
    model(
        *("SwinModel", "SwinConfig"),
        image_size=32,
        patch_size=4,
        embed_dim=32,
        depths=[2, 1],
        num_heads=[2, 4],
        window_size=4,
    ),
    image,
)
MODELS["segformer"] = (
    model(
        *("SegformerForSemanticSegmentation", "SegformerConfig"),
        num_encoder_blocks=2,
        depths=[1, 1],
        hidden_sizes=[16, 32],
        sr_ratios=[4, 2],
        num_attention_heads=[1, 2],
        patch_sizes=[7, 3],
        strides=[4, 2],
        mlp_ratios=[2, 2],
        decoder_hidden_size=32,
        num_labels=5,
    ),
    image,
)
MODELS["clip"] = (model("CLIPModel", "CLIPConfig", text_config=SIZES, vision_config=VIT, projection_dim=32), captioned_image)


def main_result(results):
    names = ("logits", "image_embeds", "last_hidden_state")
    return next(getattr(results, name) for name in names if hasattr(results, name))


def to_device(tensor):
    return (tensor.half() if tensor.is_floating_point() else tensor).to("spyre")


@pytest.mark.parametrize("mode", ["eager", "compiled"])
@pytest.mark.parametrize("name", MODELS)
def test_results_are_those_of_the_cpu(name, mode, on_device):
    make, inputs = MODELS[name]
    torch.manual_seed(0)
    host, inputs = make().eval(), inputs()
    device = copy.deepcopy(host).half().to("spyre")
    run = torch.compile(device) if mode == "compiled" else device
    with torch.no_grad():
        expected = main_result(host(**inputs))
        given = {name: to_device(tensor) for name, tensor in inputs.items()}
        with on_device():
            result = main_result(run(**given))
    error = relative_error(result.float().cpu().numpy(), expected.numpy())
    assert error <= tolerance("acceptance", torch.float16), error
