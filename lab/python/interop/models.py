"""Makes GGUF files as converters of models write them: calls each `add_*` method of the package's writer, with
values that occur in some model."""

import collections
import inspect
import logging

import gguf
import numpy as np
from gguf import quants

from common import ZTEN_NAMES

# The writer warns about files that need not be split.
logging.getLogger("gguf").setLevel(logging.ERROR)

TYPES = gguf.GGMLQuantizationType
QUANTIZED = [
    type
    for type in TYPES
    if type.name not in ("F32", "F16", "F64", "BF16", "I8", "I16", "I32", "I64", "Q8_1")
]
TEXTS = ["zten", "重み 🙂", "", 'a\n"b\\\0', "https://example.com/x?y=z", "x" * 5000]
TEMPLATES = [
    "{% for m in messages %}<|{{ m['role'] }}|>\n{{ m['content'] }}{% endfor %}",
    [{"name": "default", "template": "{{ x }}"}, {"name": "tool use", "template": "{{ y }}"}],
    [{"name": "rag", "template": "重み"}],
]
# The names of the `add_*` methods of the writer that this script has called. `not_called` looks
# for methods that are missing here.
CALLED = set()
PLAIN = {
    "add_tensor",
    "add_tensor_info",
    "add_key_value",
    "add_array",
    "add_shard_kv_data",
    "add_architecture",
}


def pick(rng, values):
    return values[int(rng.integers(len(values)))]


def some(rng, value, count):
    return [value(rng) for _ in range(count)]


def floats(rng):
    return float(np.float32(pick(rng, [0.0, 1e-6, 1.0, 10_000.0, rng.random()])))


def flag(rng):
    return bool(rng.integers(2))


def count(rng):
    return int(pick(rng, [1, 2, 8, 64, 4096, 1 << 20, rng.integers(1, 1 << 16)]))


def text(rng):
    return pick(rng, TEXTS)


# Values by the type that the writer declares for a parameter.
VALUES = {
    "int": lambda rng, _: count(rng),
    "float": lambda rng, _: floats(rng),
    "bool": lambda rng, _: flag(rng),
    "str": lambda rng, _: text(rng),
    "bytes": lambda rng, _: rng.bytes(int(rng.integers(1, 400))),
    "Sequence[float]": lambda rng, blocks: some(rng, floats, blocks),
    "Sequence[bool]": lambda rng, blocks: some(rng, flag, blocks),
    "Sequence[int]": lambda rng, blocks: sorted(int(n) for n in rng.integers(0, blocks, blocks)),
    "Sequence[str]": lambda rng, blocks: some(rng, text, blocks),
    "int | Sequence[bool]": lambda rng, blocks: pick(rng, [4, some(rng, flag, blocks)]),
    "ExpertGatingFuncType": lambda rng, _: pick(rng, list(gguf.ExpertGatingFuncType)),
    "PoolingType": lambda rng, _: pick(rng, list(gguf.PoolingType)),
    "RopeScalingType": lambda rng, _: pick(rng, list(gguf.RopeScalingType)),
}


class Writer(gguf.GGUFWriter):
    """A writer that records which of its methods are called."""

    def __getattribute__(self, name):
        if name.startswith("add_"):
            CALLED.add(name)
        return super().__getattribute__(name)


def adders():
    return {name for name in dir(gguf.GGUFWriter) if name.startswith("add_")} - PLAIN


GENERAL = [
    f"add_{name}"
    for name in (
        "author version organization finetune basename description quantized_by "
        "size_label license license_name license_link url doi uuid repo_url source_url "
        "source_doi source_uuid source_repo_url tags languages name tensor_data_layout"
    ).split()
]


def general(rng, writer, kind):
    writer.add_type(kind)
    writer.add_file_type(int(pick(rng, list(gguf.LlamaFileType))))
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
    for name in GENERAL:
        if rng.integers(4) == 0:
            add(rng, writer, name, 3)
    for of in ("base_model", "dataset"):
        if rng.integers(4) == 0:
            sources = int(rng.integers(1, 4))
            getattr(writer, f"add_{of}_count")(sources)
            for name in sorted(name for name in adders() if name.startswith(f"add_{of}_")):
                if not name.endswith("_count"):
                    getattr(writer, name)(int(rng.integers(sources)), text(rng))


def add(rng, writer, name, blocks):
    """Calls a method of `writer` with random values for its parameters, of `blocks` blocks each."""
    method = getattr(writer, name)
    parameters = inspect.signature(method).parameters.values()
    method(*(VALUES[parameter.annotation](rng, blocks) for parameter in parameters))


def per_block(rng, value, blocks):
    """Returns one value for all blocks, or one for each block. Of several values, the first is `value`, and each further one is
    `value` or zero."""
    if rng.integers(3):
        return value
    return [value, *(value if flag(rng) else 0 for _ in range(blocks - 1))]


Sizes = collections.namedtuple("Sizes", "blocks embedding heads tokens")


def sizes(rng):
    heads = int(pick(rng, [1, 2, 4, 8]))
    return Sizes(
        int(rng.integers(1, 6)), heads * int(pick(rng, [32, 64])), heads, int(rng.integers(12, 60))
    )


def text_model(rng, writer, sizes):
    blocks, embedding, heads, tokens = sizes
    head = embedding // heads
    writer.add_block_count(blocks)
    writer.add_context_length(int(pick(rng, [512, 131_072, 1 << 20, 10_485_760])))
    writer.add_embedding_length(embedding)
    # The metadata of a model without attention, such as Mamba, gives 0 heads and a feed-forward
    # length of 0, because it has no such layers.
    is_recurrent = any(name in writer.arch for name in ("mamba", "rwkv"))
    writer.add_feed_forward_length(0 if is_recurrent else per_block(rng, 4 * embedding, blocks))
    writer.add_head_count(0 if is_recurrent else per_block(rng, heads, blocks))
    if not is_recurrent:
        kv_heads = pick(rng, [n for n in (1, 2, 4, 8) if heads % n == 0])
        writer.add_head_count_kv(per_block(rng, kv_heads, blocks))
        writer.add_rope_dimension_count(pick(rng, [head, head // 2]))
        for name in (
            "key_length",
            "value_length",
            "key_length_mla",
            "value_length_mla",
            "key_length_swa",
            "value_length_swa",
        ):
            if rng.integers(3) == 0:
                getattr(writer, f"add_{name}")(head)
        if rng.integers(4) == 0:
            writer.add_rope_dimension_sections([head // 4, head // 8, head // 8, 0])
            writer.add_rope_dimension_count_swa(head)
    writer.add_layer_norm_rms_eps(1e-5)
    if rng.integers(3) == 0:
        writer.add_vocab_size(tokens)
    if rng.integers(2) == 0:
        experts(rng, writer, blocks, embedding)
    if rng.integers(8) == 0:
        writer.add_dense_features_dims(pick(rng, ["dense_2", "dense_3"]), embedding, 4 * embedding)


def experts(rng, writer, blocks, embedding):
    # The metadata of dense variants of models with experts gives 0 experts.
    number = int(pick(rng, [0, 1, 8, 60, 128, 256]))
    writer.add_expert_count(number)
    writer.add_expert_used_count(min(number, int(pick(rng, [1, 2, 8]))))
    writer.add_expert_shared_count(int(rng.integers(0, 3)))
    writer.add_leading_dense_block_count(int(rng.integers(0, blocks + 1)))
    writer.add_expert_feed_forward_length(embedding)
    if number >= 8 and rng.integers(2) == 0:
        writer.add_expert_group_count(4)
        writer.add_expert_group_used_count(int(rng.integers(1, 5)))
        writer.add_experts_per_group(number // 4)


KINDS = gguf.TokenType


def tokens_of(rng, kind, words):
    """Returns tokens, their types and their scores."""
    made = [
        ("<unk>", KINDS.UNKNOWN),
        ("<s>", KINDS.CONTROL),
        ("</s>", KINDS.CONTROL),
        ("<mask>", KINDS.CONTROL),
    ]
    if kind in ("llama", "t5") and rng.integers(3):
        made += [(f"<0x{byte:02X}>", KINDS.BYTE) for byte in range(256)]
    made += [
        (pick(rng, ["▁", "Ġ", "##", "重", "\\xff", "🙂 ", "a\0"]) + str(at), KINDS.NORMAL)
        for at in range(words)
    ]
    # Tokens that begin like byte tokens, a token of two spaces, and an empty token.
    made += [
        ("<0x", KINDS.NORMAL),
        ("<0xZZ>", KINDS.NORMAL),
        ("▁▁", KINDS.USER_DEFINED),
        ("", KINDS.NORMAL),
    ]
    made += [(f"[PAD{at}]", KINDS.UNUSED) for at in range(int(rng.integers(0, 9)))]
    scores = [-1000.0 if type != KINDS.NORMAL else -float(at) for at, (_, type) in enumerate(made)]
    return [token for token, _ in made], [type for _, type in made], scores


SPECIAL = "bos eos unk pad sep mask eot eom".split()


def vocabulary(rng, writer, words):
    """Adds a random vocabulary, or none, to `writer`. Returns the number of its tokens, or `words` if there is none."""
    kind = pick(rng, ["llama", "gpt2", "bert", "t5", "rwkv", "plamo2", "no_vocab"])
    writer.add_tokenizer_model(kind)
    if kind == "no_vocab":
        return words
    tokens, types, scores = tokens_of(rng, kind, words)
    writer.add_tokenizer_pre(pick(rng, ["default", "llama-bpe", "qwen2"]))
    # `add_token_list` takes tokens as texts or as bytes.
    writer.add_token_list([token.encode() for token in tokens] if flag(rng) else tokens)
    if kind != "rwkv" or flag(rng):
        writer.add_token_types(types if flag(rng) else [int(type) for type in types])
    if kind in ("llama", "t5", "plamo2") or (kind == "bert" and flag(rng)):
        writer.add_token_scores(scores)
    if kind == "gpt2":
        merges = [f"Ġ{at} {at}" for at in range(int(rng.integers(1, 30)))]
        writer.add_token_merges([merge.encode() for merge in merges] if flag(rng) else merges)
    if kind == "bert":
        writer.add_token_type_count(int(pick(rng, [1, 2])))
    if kind == "t5":
        writer.add_precompiled_charsmap(rng.bytes(int(rng.integers(1, 400))))
        writer.add_decoder_start_token_id(0)
        writer.add_remove_extra_whitespaces(flag(rng))
    for name in SPECIAL:
        if rng.integers(3):
            getattr(writer, f"add_{name}_token_id")(
                int(pick(rng, [0, len(tokens) - 1, rng.integers(len(tokens))]))
            )
    # Keys for which the writer has no method.
    for name in ("fim_pre", "fim_suf", "fim_mid", "fim_pad", "fim_rep", "fim_sep", "cls"):
        if rng.integers(6) == 0:
            writer.add_uint32(f"tokenizer.ggml.{name}_token_id", int(rng.integers(len(tokens))))
    for name in ("bos", "eos", "sep"):
        if flag(rng):
            getattr(writer, f"add_add_{name}_token")(flag(rng))
    writer.add_add_space_prefix(flag(rng))
    if flag(rng):
        writer.add_chat_template(pick(rng, TEMPLATES))
    if rng.integers(6) == 0:
        writer.add_classifier_output_labels(["LABEL_0", "重み"])
    return len(tokens)


def clip_model(rng, writer, sizes):
    for of, has in (
        ("vision", "add_clip_has_vision_encoder"),
        ("audio", "add_clip_has_audio_encoder"),
    ):
        if rng.integers(3) == 0:
            continue
        getattr(writer, has)(True)
        getattr(writer, pick(rng, ["add_clip_projector_type", f"add_clip_{of}_projector_type"]))(
            "gemma3"
        )
        getattr(writer, f"add_{of}_block_count")(sizes.blocks)
        getattr(writer, f"add_{of}_embedding_length")(sizes.embedding)
        getattr(writer, f"add_{of}_head_count")(sizes.heads)
        getattr(writer, f"add_{of}_feed_forward_length")(4 * sizes.embedding)
        getattr(writer, f"add_{of}_projection_dim")(sizes.embedding)
        getattr(writer, f"add_{of}_attention_layernorm_eps")(1e-6)
        if of == "vision":
            side = int(pick(rng, [14, 16]))
            writer.add_vision_patch_size(side)
            writer.add_vision_image_size(side * 16)
            writer.add_vision_image_mean(some(rng, floats, 3))
            writer.add_vision_image_std([0.5, 0.25, 1.0])
        others(rng, writer, [name for name in adders() if of in name], sizes.blocks)


def others(rng, writer, names, blocks):
    """Calls some of the methods ``names`` of ``writer`` that no other function of this script calls, with random values of the
    types of their parameters."""
    for name in sorted(set(names) - SAID):
        if rng.integers(8) == 0:
            add(rng, writer, name, blocks)


# Methods that `others` does not call: those for facts that other functions write, because the
# numbers of these facts must agree, and those for keys that a program defines itself.
SAID = (
    {
        f"add_{name}"
        for name in (
            "block_count context_length embedding_length feed_forward_length head_count "
            "head_count_kv rope_dimension_count key_length value_length key_length_mla "
            "value_length_mla key_length_swa value_length_swa rope_dimension_sections "
            "rope_dimension_count_swa vocab_size expert_count expert_used_count "
            "expert_shared_count leading_dense_block_count expert_group_count "
            "expert_group_used_count experts_per_group expert_feed_forward_length "
            "layer_norm_rms_eps dense_features_dims tokenizer_model tokenizer_pre token_list "
            "token_types token_scores token_merges token_type_count precompiled_charsmap "
            "decoder_start_token_id remove_extra_whitespaces add_bos_token add_eos_token "
            "add_sep_token add_space_prefix chat_template classifier_output_labels type "
            "file_type quantization_version custom_alignment clip_has_vision_encoder "
            "clip_has_audio_encoder clip_projector_type clip_vision_projector_type "
            "clip_audio_projector_type vision_block_count vision_embedding_length "
            "vision_head_count vision_feed_forward_length vision_projection_dim "
            "vision_attention_layernorm_eps vision_patch_size vision_image_size "
            "vision_image_mean vision_image_std audio_block_count audio_embedding_length "
            "audio_head_count audio_feed_forward_length audio_projection_dim "
            "audio_attention_layernorm_eps bool string uint8 int8 uint16 int16 uint32 int32 "
            "uint64 int64 float32 float64"
        ).split()
    }
    | {f"add_{name}_token_id" for name in SPECIAL}
    | set(GENERAL)
)
SAID |= {name for name in adders() if name.startswith(("add_base_model_", "add_dataset_"))}
OF_TEXT = {
    name for name in adders() - SAID if not any(of in name for of in ("vision", "audio", "clip"))
}


def own_keys(rng, writer):
    """Adds keys that a program defines itself, with every type of value."""
    for bits in (8, 16, 32, 64):
        number = int(rng.integers(1 << (bits - 1)))
        getattr(writer, f"add_uint{bits}")(f"zten.u{bits}", number)
        getattr(writer, f"add_int{bits}")(f"zten.i{bits}", -number)
    writer.add_float32("zten.f32", pick(rng, [float("nan"), float("-inf"), 1.5]))
    writer.add_float64("zten.f64", 1e300)
    writer.add_bool("zten.重み", flag(rng))
    writer.add_string("zten." + "x" * 200, text(rng))
    writer.add_array("zten.nested", [[1, 2], [3]])
    sub_type = pick(
        rng, [gguf.GGUFValueType.UINT8, gguf.GGUFValueType.INT64, gguf.GGUFValueType.FLOAT64]
    )
    writer.add_key_value("zten.typed", [1, 2, 3], gguf.GGUFValueType.ARRAY, sub_type)


def names_of(rng, arch, blocks):
    """Yields the names of some of the tensors that the package knows for the architecture `arch`,
    for each block."""
    kinds = [kind for kind in gguf.MODEL_TENSORS[arch] if kind != gguf.MODEL_TENSOR.TOKEN_EMBD]
    number = int(rng.integers(0, min(len(kinds), 9) + 1))
    for at in rng.permutation(len(kinds))[:number]:
        name = gguf.TENSOR_NAMES[kinds[at]]
        for block in range(blocks if "{bid}" in name else 1):
            yield name.format(bid=block, xid=0) + pick(rng, [".weight", ".bias", ".scale"])


def tensor(rng, shape, type):
    """Returns an array for the writer, its type in GGUF if the array is quantized or BF16 and
    otherwise `None`, and what zten must read: the name of the type in zten, the shape, and the
    array."""
    if type in QUANTIZED:
        elements, size = gguf.GGML_QUANT_SIZES[type]
        shape = [*shape[:-1], max(1, shape[-1] // elements) * elements]
        try:
            data = quants.quantize(rng.standard_normal(shape).astype(np.float32), type)
        except NotImplementedError:
            # The package can read this type, but not quantize to it, so the blocks are random
            # bytes.
            number = int(np.prod(shape, dtype=np.int64)) // elements * size
            data = np.frombuffer(rng.bytes(number), np.uint8).reshape([*shape[:-1], -1])
        return data, type, (f"gguf.{type.name.lower()}", shape, data)
    if type == TYPES.BF16:
        data = quants.quantize(rng.standard_normal(shape).astype(np.float32), type)
        return data, type, ("bf16", shape, data)
    dtype = np.dtype({"F": "float", "I": "int"}[type.name[0]] + type.name[1:])
    data = (rng.standard_normal(shape) * 100).astype(dtype)
    return data, None, (ZTEN_NAMES[dtype.name], shape, data)


def write(rng, path):
    """Writes a model, perhaps in several files. Returns the files, each with its content: name to type, shape and
    array."""
    archs = list(gguf.MODEL_ARCH)
    arch = gguf.MODEL_ARCH.MMPROJ if rng.integers(10) == 0 else pick(rng, archs)
    split = {}
    if rng.integers(6) == 0:
        split = pick(
            rng, [{"split_max_tensors": int(rng.integers(1, 5))}, {"split_max_size": 4000}]
        )
        split["small_first_shard"] = flag(rng)
    writer = Writer(
        path, gguf.MODEL_ARCH_NAMES[arch], use_temp_file=not split and flag(rng), **split
    )
    size = sizes(rng)
    # A model in several files keeps the usual alignment, because only its first file would state
    # another one, although all of them use it.
    if not split and rng.integers(4) == 0:
        writer.add_custom_alignment(1 << int(rng.integers(3, 13)))
    held = {}
    if arch == gguf.MODEL_ARCH.MMPROJ:
        general(rng, writer, "mmproj")
        clip_model(rng, writer, size)
    elif rng.integers(16) == 0:
        general(rng, writer, "adapter")
        writer.add_string("adapter.type", "lora")
        writer.add_float32("adapter.lora.alpha", 16.0)
    else:
        general(rng, writer, "model")
        text_model(rng, writer, size)
        tokens = vocabulary(rng, writer, size.tokens)
        held["token_embd.weight"] = tensor(
            rng, [tokens, size.embedding], pick(rng, [TYPES.F32, TYPES.F16, TYPES.Q8_0])
        )
        others(rng, writer, OF_TEXT, size.blocks)
    if rng.integers(8) == 0:
        own_keys(rng, writer)
    types = [type for type in TYPES if type != TYPES.Q8_1]
    for name in names_of(rng, arch, size.blocks):
        shape = pick(
            rng, [[size.embedding], [3, size.embedding], [2, 3, 32], [1, 2, 1, 64], [7, 5]]
        )
        held[name] = tensor(rng, shape, pick(rng, types))
    if rng.integers(8) == 0:
        held["scalar"] = tensor(rng, [], TYPES.F32)
        held["empty"] = tensor(rng, [int(rng.integers(0, 3)), 0, 4], TYPES.F16)
    if rng.integers(8) == 0:
        # The tensors were added only so that the writer finds the sizes of the embeddings.
        held.clear()
    return finish(writer, held, path, streams=not writer.use_temp_file and not split and flag(rng))


def finish(writer, held, path, streams):
    for name, (data, type, _) in held.items():
        if streams:
            writer.add_tensor_info(name, data.shape, data.dtype, data.nbytes, raw_dtype=type)
        else:
            writer.add_tensor(name, data, raw_dtype=type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    if streams:
        writer.write_ti_data_to_file()
        for data, _, _ in held.values():
            writer.write_tensor_data(data)
    else:
        writer.write_tensors_to_file()
    parts = [list(part) for part in writer.tensors]
    paths = [path] if len(parts) == 1 else writer.format_shard_names(path)
    writer.close()
    wanted = {name: what for name, (_, _, what) in held.items()}
    # The first file of a split model is opened with the tensors of all files, and each later file
    # with its own tensors.
    rest = [{name: wanted[name] for name in part} for part in parts[1:]]
    return list(zip(paths, [wanted, *rest], strict=True))


def not_called():
    return adders() - CALLED
