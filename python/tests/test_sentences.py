"""A real model with real weights: the sentence encoder that `make run` ends with."""

import pathlib
import sys

import pytest
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples"))
import sentences  # noqa: E402

# The device's vectors may differ from the CPU's by an angle of at most 1.8 degrees.
LEAST_COSINE = 0.9995


@pytest.fixture(scope="module")
def encoder():
    return sentences.load()


def test_set_up_left_torch_alone():
    assert torch.__version__.startswith("2.13.0")


def test_the_demo_does_not_end_well_without_its_model(monkeypatch):
    monkeypatch.setattr(sentences, "PACKAGE", "no_such_package")
    with pytest.raises(SystemExit, match="no_such_package is not installed; scripts/setup.sh"):
        sentences.main()


def test_vectors_and_neighbours_are_those_of_the_cpu(encoder, on_device):
    tokenizer, host = encoder
    ids, mask = sentences.tokens(tokenizer, sentences.SENTENCES)
    with torch.no_grad():
        reference = host(ids, mask)
        device = sentences.SentenceEncoder(type(host.model)(host.model.config, add_pooling_layer=False))
        device.load_state_dict(host.state_dict())
        device = device.half().eval().to("spyre")
        inputs = ids.to("spyre"), mask.to("spyre")
        with on_device():
            vectors = torch.compile(device)(*inputs)
    vectors = vectors.cpu().float()
    cosines = torch.nn.functional.cosine_similarity(vectors, reference)
    assert len(reference) == 20 and cosines.min() >= LEAST_COSINE, cosines
    assert torch.equal(sentences.nearest(vectors)[0], sentences.nearest(reference)[0])
