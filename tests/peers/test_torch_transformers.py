"""Small models of the package transformers, with random weights and as they are: training steps as in eager mode."""

# Models of torch, and trees of any type.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false, reportMissingImports=false
# pyright: reportArgumentType=false, reportCallIssue=false

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import transformers as tf

from xdsl_rlx.frontends.hosts.torch_backend import xdsl_rlx

WORDS = 64
BERT: dict[str, Any] = {
    "vocab_size": WORDS,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 64,
}
LLAMA: dict[str, Any] = BERT | {"num_key_value_heads": 2, "bos_token_id": 1, "eos_token_id": 2}
NO_DROPOUT: dict[str, Any] = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
GPT2: dict[str, Any] = {"vocab_size": WORDS, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64}
ENDS: dict[str, Any] = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
DISTIL: dict[str, Any] = {"vocab_size": WORDS, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64}
OPT: dict[str, Any] = {"vocab_size": WORDS, "hidden_size": 32, "num_hidden_layers": 2, "ffn_dim": 64}
T5: dict[str, Any] = {"vocab_size": WORDS, "d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4}
IMAGES: dict[str, Any] = {"num_labels": 5, "image_size": 16}
WHISPER: dict[str, Any] = {
    "vocab_size": WORDS,
    "d_model": 32,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "num_mel_bins": 8,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "max_source_positions": 16,
    "max_target_positions": 32,
    "decoder_start_token_id": 1,
    "dropout": 0.0,
}


def _ids() -> Any:
    return torch.randint(3, WORDS, (2, 12))


def _words() -> dict[str, Any]:
    ids = _ids()
    return {"input_ids": ids, "labels": ids}


def _pairs() -> dict[str, Any]:
    return {"input_ids": _ids(), "labels": _ids()}


def _images() -> dict[str, Any]:
    return {"pixel_values": torch.randn(2, 3, 16, 16), "labels": torch.randint(0, 5, (2,))}


def _sounds() -> dict[str, Any]:
    return {"input_features": torch.randn(2, 8, 32), "labels": _ids()}


CASES: dict[str, tuple[Callable[[], Any], Callable[[], dict[str, Any]]]] = {
    "gpt2": (
        lambda: tf.GPT2LMHeadModel(
            tf.GPT2Config(**GPT2, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=1, eos_token_id=2)
        ),
        _words,
    ),
    "llama": (lambda: tf.LlamaForCausalLM(tf.LlamaConfig(**LLAMA)), _words),
    "mistral": (lambda: tf.MistralForCausalLM(tf.MistralConfig(**LLAMA, sliding_window=8)), _words),
    "qwen2": (lambda: tf.Qwen2ForCausalLM(tf.Qwen2Config(**LLAMA)), _words),
    "gemma": (lambda: tf.GemmaForCausalLM(tf.GemmaConfig(**LLAMA, head_dim=8)), _words),
    "phi": (lambda: tf.PhiForCausalLM(tf.PhiConfig(**LLAMA, resid_pdrop=0.0, embd_pdrop=0.0)), _words),
    "gpt_neox": (lambda: tf.GPTNeoXForCausalLM(tf.GPTNeoXConfig(**BERT, bos_token_id=1, eos_token_id=2)), _words),
    "opt": (
        lambda: tf.OPTForCausalLM(
            tf.OPTConfig(**OPT, num_attention_heads=4, max_position_embeddings=64, word_embed_proj_dim=32, dropout=0.0)
        ),
        _words,
    ),
    "mamba": (
        lambda: tf.MambaForCausalLM(
            tf.MambaConfig(vocab_size=WORDS, hidden_size=32, num_hidden_layers=1, state_size=4, **ENDS)
        ),
        _words,
    ),
    "t5": (
        lambda: tf.T5ForConditionalGeneration(tf.T5Config(**T5, dropout_rate=0.0, decoder_start_token_id=0)),
        _pairs,
    ),
    "bert": (lambda: tf.BertForMaskedLM(tf.BertConfig(**BERT, **NO_DROPOUT)), _words),
    "roberta": (lambda: tf.RobertaForMaskedLM(tf.RobertaConfig(**BERT, **NO_DROPOUT)), _words),
    "distilbert": (
        lambda: tf.DistilBertForMaskedLM(
            tf.DistilBertConfig(**DISTIL, max_position_embeddings=64, dropout=0.0, attention_dropout=0.0)
        ),
        _words,
    ),
    "whisper": (lambda: tf.WhisperForConditionalGeneration(tf.WhisperConfig(**WHISPER, **ENDS)), _sounds),
    "vit": (
        lambda: tf.ViTForImageClassification(
            tf.ViTConfig(
                hidden_size=32,
                num_hidden_layers=2,
                num_attention_heads=4,
                intermediate_size=64,
                **{"patch_size": 4, **IMAGES, **NO_DROPOUT},
            )
        ),
        _images,
    ),
    "convnext": (
        lambda: tf.ConvNextForImageClassification(
            tf.ConvNextConfig(hidden_sizes=[8, 16], depths=[1, 1], num_stages=2, **IMAGES)
        ),
        _images,
    ),
    "resnet": (
        lambda: tf.ResNetForImageClassification(
            tf.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], num_labels=5, layer_type="basic")
        ),
        _images,
    ),
}

IN_F32 = ("gpt2", "llama", "mistral", "qwen2", "gemma", "phi", "gpt_neox", "opt", "mamba", "t5")
"""Models whose loss, or normalisation, converts to f32."""


@pytest.fixture(autouse=True)
def double() -> Iterator[None]:
    torch.set_default_dtype(torch.float64)
    torch.compiler.reset()
    torch.manual_seed(0)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("name", CASES)
def test_a_model_trains_as_in_eager_mode(name: str) -> None:
    make, batch = CASES[name]
    ours = make().double().train()
    theirs = copy.deepcopy(ours)
    compiled = torch.compile(ours, backend=xdsl_rlx, options={"strict": True}, dynamic=False)
    limit = 5e-6 if name in IN_F32 else 1e-9
    optimisers = [torch.optim.SGD(model.parameters(), 0.05) for model in (ours, theirs)]
    for _ in range(2):
        given = batch()
        losses = [model(**given).loss for model in (compiled, theirs)]
        torch.testing.assert_close(*losses, rtol=limit, atol=0.0)
        for loss, optimiser in zip(losses, optimisers, strict=True):
            optimiser.zero_grad()
            loss.backward()
        largest = max(float(q.grad.abs().max()) for q in theirs.parameters() if q.grad is not None)
        for (label, p), q in zip(ours.named_parameters(), theirs.parameters(), strict=True):
            if q.grad is not None:
                assert p.grad is not None, label
                torch.testing.assert_close(p.grad, q.grad, rtol=limit, atol=limit * largest, msg=label)
        for optimiser in optimisers:
            optimiser.step()
