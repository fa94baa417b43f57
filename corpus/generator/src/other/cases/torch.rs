//! Cases of the corpus about checkpoints of PyTorch.

use super::Cases;
use crate::other::torch::{
    call, dict, file, global, int, members, meta, numbers, ordered, pickle, storage, storage_on,
    tensor, text, tuple,
};
use crate::other::zip::{Archive, Member};

/// The bytes of two elements of 16 bits.
const TWO: &[u8] = &[1, 0, 2, 0];
/// The bytes of four elements of 16 bits.
const FOUR: &[u8] = &[1, 0, 2, 0, 3, 0, 4, 0];

fn shorts(key: &str, length: u8) -> Vec<u8> {
    storage("ShortStorage", key, length)
}

/// Returns the pickle instructions of a vector of two elements in the storage `0`.
fn vector() -> Vec<u8> {
    tensor(shorts("0", 2), 0, &[2], &[1])
}

/// Returns a valid checkpoint whose members `change` has changed or extended.
fn changed(change: impl FnOnce(&mut Vec<Member>)) -> Vec<u8> {
    let mut all = members(&pickle(&dict(&[("a", vector())])), &[TWO]);
    change(&mut all);
    Archive::new(&all).bytes()
}

/// Returns a checkpoint with the pickle `pickle`.
fn of(pickle: &[u8]) -> Vec<u8> {
    Archive::new(&members(pickle, &[])).bytes()
}

/// Returns the opcodes of a state dictionary as `Module.state_dict` makes it: an `OrderedDict` of `items`, with an
/// attribute `_metadata` that is an `OrderedDict` of `metadata`. Both lists alternate keys and values.
fn state(items: &[Vec<u8>], metadata: &[Vec<u8>]) -> Vec<u8> {
    let metadata = [ordered(), b"(".to_vec(), metadata.concat(), b"u".to_vec()].concat();
    let attributes = [b"}".to_vec(), text("_metadata"), metadata, b"s".to_vec()].concat();
    [ordered(), b"(".to_vec(), items.concat(), b"u".to_vec(), attributes, b"b".to_vec()].concat()
}

/// Returns the opcodes of a state dictionary with a tensor `a`, whose `_metadata` maps the empty text to `value`.
fn with_metadata(value: Vec<u8>) -> Vec<u8> {
    state(&[text("a"), vector()], &[text(""), value])
}

/// Returns `text` as the opcode `SHORT_BINSTRING`, which Python 2 wrote for `str`.
fn short_binstring(text: &str) -> Vec<u8> {
    [&[b'U', u8::try_from(text.len()).unwrap()], text.as_bytes()].concat()
}

/// Returns a vector of two elements of `storage`, rebuilt with `_rebuild_tensor_v3`, whose argument `dtype` says the
/// element type in place of the class of the storage.
fn typed(storage: Vec<u8>, dtype: &str) -> Vec<u8> {
    typed_with(storage, b"\x89", dtype)
}

/// Returns the vector of [`typed`] with the instruction `grad` for whether it requires gradients.
fn typed_with(storage: Vec<u8>, grad: &[u8], dtype: &str) -> Vec<u8> {
    let arguments = [
        storage,
        int(0),
        numbers(&[2]),
        numbers(&[1]),
        grad.to_vec(),
        ordered(),
        global("torch", dtype),
    ];
    call("torch._utils", "_rebuild_tensor_v3", &arguments)
}

/// Returns an archive of the pickled `value` and of `storages`, whose member `byteorder` says "big".
fn big(value: &[u8], storages: &[&[u8]]) -> Vec<u8> {
    let mut all = members(&pickle(value), storages);
    all[1] = Member::stored("archive/byteorder", b"big");
    Archive::new(&all).bytes()
}

/// Returns an `UntypedStorage` with the key `key` and a length of `bytes`.
fn untyped(key: &str, bytes: u8) -> Vec<u8> {
    storage_on("cpu", &global("torch.storage", "UntypedStorage"), key, bytes)
}

/// Returns checkpoints that real programs write and few tests of a reader cover: tensors without elements, storages on
/// accelerators, strings of Python 2, archives without checksums.
fn accepted_rarely() -> Vec<(&'static str, Vec<u8>)> {
    let list = |items: &[Vec<u8>]| [&b"]("[..], &items.concat(), b"e"].concat();
    // Vendors register device types of their own with PyTorch, so a name need not be in a list that zten knows.
    let devices = ["npu:0", "musa", "mlu:1", "xpu", "cuda:3"];
    let on = devices.map(|device| {
        let number = u8::try_from(devices.iter().position(|other| *other == device).unwrap());
        let key = number.unwrap().to_string();
        let storage = storage_on(device, &global("torch", "ShortStorage"), &key, 2);
        (device, tensor(storage, 0, &[2], &[1]))
    });
    let pairs = [list(&[text("a"), vector()]), list(&[text("b"), int(1)])];
    let module = dict(&[("version", int(2)), ("more", dict(&[("assign", b"\x88".to_vec())]))]);
    let kept = [list(&[int(1), b"\x88".to_vec(), int(2), int(1)]), b"q\0".to_vec()].concat();
    let set = [call("builtins", "set", &[kept]), text("list"), b"h\0".to_vec(), int(3)].concat();
    let set = [b"}(".to_vec(), text("set"), set, b"au".to_vec()].concat();
    let attributes = |attributes: (u16, u32)| changed(|all| all[2].attributes = attributes);
    let bools =
        |shape: &[u8], strides: &[u8]| tensor(storage("BoolStorage", "0", 4), 0, shape, strides);
    let repeated = [
        ("repeated", bools(&[200, 200, 200, 2], &[0, 0, 0, 1])),
        ("windows", bools(&[3, 2, 2], &[1, 0, 1])),
        ("column", bools(&[2], &[3])),
    ];
    let mut bytes = b"\x80\x05}\x8c\x01a\x96\x02\0\0\0\0\0\0\0xys.".to_vec();
    bytes.splice(2..2, b"\x95\x11\0\0\0\0\0\0\0".iter().copied());
    vec![
        ("empty-view", file(&tensor(shorts("0", 0), 2, &[0], &[3]), &[b""])),
        ("empty-behind", {
            let views = [
                ("all", tensor(shorts("0", 4), 0, &[4], &[1])),
                ("none", tensor(shorts("0", 4), 9, &[0, 2], &[2, 1])),
            ];
            file(&dict(&views), &[FOUR])
        }),
        ("empty-types", {
            let longs = storage("LongStorage", "0", 0);
            let both =
                [("a", tensor(shorts("0", 0), 0, &[0], &[1])), ("b", tensor(longs, 0, &[0], &[1]))];
            file(&dict(&both), &[b""])
        }),
        ("devices", file(&dict(&on), &[TWO; 5])),
        ("no-checksums", changed(|all| all.iter_mut().for_each(|member| member.crc = 0))),
        ("bytearray", of(&bytes)),
        ("ordered-items", file(&call("collections", "OrderedDict", &[list(&pairs)]), &[TWO])),
        ("old-strings", {
            let id = [
                short_binstring("storage"),
                global("torch", "ShortStorage"),
                text("0"),
                short_binstring("cpu"),
                int(2),
            ];
            let storage = [tuple(&id), b"Q".to_vec()].concat();
            let value = [
                b"}".to_vec(),
                short_binstring("a"),
                tensor(storage, 0, &[2], &[1]),
                b"s".to_vec(),
            ];
            file(&value.concat(), &[TWO])
        }),
        ("metadata", file(&with_metadata(module), &[TWO])),
        ("set-of-list", file(&set, &[])),
        ("repeated-bools", file(&dict(&repeated), &[&[0, 1, 1, 0]])),
        ("repeated-bools-apart", file(&dict(&repeated[2..]), &[&[0, 2, 1, 0]])),
        ("attributes", attributes((1, 0o100_644 << 16 | 0x20))),
        ("attributes-windows", attributes((0, 0x2000 | 0x80 | 0x27))),
        ("attributes-mode", attributes((0, 0o600 << 16))),
        ("big-untyped", big(&typed(untyped("0", 4), "uint16"), &[TWO])),
        ("big-typed", big(&typed(shorts("0", 2), "uint16"), &[TWO])),
    ]
}

fn accepted() -> Vec<(&'static str, Vec<u8>)> {
    let state = |items: &[u8]| state(&[items.to_vec()], &[text(""), dict(&[("version", int(1))])]);
    let two = [text("w.weight"), vector(), text("w.bias"), tensor(shorts("1", 1), 0, &[], &[])];
    let four = |shape: &[u8], strides: &[u8]| tensor(shorts("0", 4), 0, shape, strides);
    let tied = [b"}(".to_vec(), text("a"), vector(), b"q\0".to_vec(), text("b"), b"h\0u".to_vec()];
    let views = [
        ("all", four(&[2, 2], &[2, 1])),
        ("row", tensor(shorts("0", 4), 2, &[2], &[1])),
        ("columns", four(&[2, 2], &[1, 2])),
        ("middle", tensor(shorts("0", 4), 1, &[2], &[1])),
        ("one", tensor(shorts("0", 4), 3, &[1, 1], &[9, 7])),
        ("none", tensor(shorts("0", 4), 0, &[0, 3], &[3, 1])),
    ];
    let list = |items: &[Vec<u8>]| [&b"]("[..], &items.concat(), b"e"].concat();
    let nested = [
        ("model", dict(&[("a", vector())])),
        ("epoch", int(7)),
        ("long", b"\x8a\x02\0\x80".to_vec()),
        ("loss", b"G\x3f\xd0\0\0\0\0\0\0".to_vec()),
        ("note", text("ä")),
        ("none", b"N".to_vec()),
        ("flag", b"\x88".to_vec()),
        ("dtype", global("torch", "float16")),
        ("size", call("torch", "Size", &[numbers(&[2, 3])])),
        ("device", call("torch", "device", &[text("cpu")])),
        ("numbered", call("torch", "device", &[text("cuda"), int(1)])),
        ("groups", list(&[dict(&[("betas", numbers(&[1, 2]))])])),
        ("state", [b"}".to_vec(), int(0), dict(&[]), b"s".to_vec()].concat()),
    ];
    let parameter =
        call("torch._utils", "_rebuild_parameter", &[vector(), b"\x89".to_vec(), ordered()]);
    let with_state = |state: Vec<u8>| {
        let args = [vector(), b"\x89".to_vec(), ordered(), state];
        call("torch._utils", "_rebuild_parameter_with_state", &args)
    };
    let strided = [
        ("every-other", four(&[2], &[2])),
        ("part", tensor(shorts("0", 4), 1, &[2], &[2])),
        ("repeated", four(&[3, 2], &[0, 1])),
        ("windows", four(&[3, 2], &[1, 1])),
        ("middle", four(&[2, 1, 2], &[1, 9, 2])),
    ];
    let bools = |offset: u8, size: u8, stride: u8| {
        tensor(storage("BoolStorage", "0", 3), offset, &[size], &[stride])
    };
    let short = |text: &str| [&[0x8c, u8::try_from(text.len()).unwrap()], text.as_bytes()].concat();
    let modern = [
        &b"\x80\x04\x95\x1d\0\0\0\0\0\0\0}\x94"[..],
        &short("when"),
        b"\x94",
        &short("torch"),
        &short("float32"),
        b"\x93\x94s.",
    ];
    let padding = [b"FB\x03\0".to_vec(), b"ZZZ".to_vec()].concat();
    vec![
        ("state", file(&state(&two.concat()), &[TWO, &[5, 0]])),
        ("tied", file(&tied.concat(), &[TWO])),
        ("views", file(&dict(&views), &[FOUR])),
        ("nested", file(&dict(&nested), &[TWO])),
        ("parameter", file(&parameter, &[TWO])),
        ("parameter-with-state", file(&with_state(dict(&[("tag", text("x"))])), &[TWO])),
        ("strided", file(&dict(&strided), &[FOUR])),
        ("tail", file(&dict(&[("a", tensor(shorts("0", 4), 2, &[2], &[1]))]), &[FOUR])),
        ("bools-apart", file(&bools(0, 2, 2), &[&[0, 2, 1]])),
        ("untyped", file(&dict(&[("a", typed(untyped("0", 4), "uint16"))]), &[TWO])),
        ("protocol-4", of(&modern.concat())),
        ("none", file(b"}", &[])),
        ("big", changed(|all| all[1] = Member::stored("archive/byteorder", b"big"))),
        ("deflated", changed(|all| all[2] = Member::deflated("archive/data/0", TWO))),
        ("deflated-pickle", {
            let packed = pickle(&dict(&[("a", vector())]));
            changed(|all| all[0] = Member::deflated("archive/data.pkl", &packed))
        }),
        ("padded", changed(|all| all[2].extra = padding)),
        ("bool", file(&tensor(storage("BoolStorage", "0", 2), 0, &[2], &[1]), &[&[0, 1]])),
    ]
}

fn value(bytes: &[u8]) -> Vec<u8> {
    file(bytes, &[])
}

fn list(items: &[&[u8]]) -> Vec<u8> {
    [b"]", &items.concat()[..]].concat()
}

fn system(module: &str) -> Vec<u8> {
    call(module, "system", &[text("true")])
}

/// Returns a checkpoint with a pickle of protocol 4 that consists of the instructions `bytes`.
fn later(bytes: &[u8]) -> Vec<u8> {
    of(&[b"\x80\x04", bytes, b"."].concat())
}

type Broken = Vec<(&'static str, &'static str, Vec<u8>)>;

/// Returns files whose pickles have instructions that are not allowed.
fn instructions() -> Broken {
    vec![
        ("torch-pickle", "protocol-1", of(b"\x80\x01}.")),
        ("torch-pickle", "cut", of(&pickle(&dict(&[("a", int(1))]))[..12])),
        ("torch-pickle", "no-stop", of(b"\x80\x02}")),
        ("torch-pickle", "mark", value(b"}u")),
        ("torch-pickle", "mark-in-tuple", value(b"(N\x86")),
        ("torch-pickle", "underflow", value(b"\x86")),
        ("torch-pickle", "two-values", value(b"}}")),
        ("torch-pickle", "length", value(b"X\xff\xff\xff\x7fa")),
        ("torch-pickle", "length-8", later(b"\x8d\xff\xff\xff\xff\xff\xff\xff\xffa")),
        ("torch-pickle", "frame", of(b"\x80\x04\x95\xff\0\0\0\0\0\0\0}.")),
        ("torch-pickle", "key-alone", value(b"}(K\x01u")),
        ("torch-pickle", "append-to-tuple", value(b")K\x01a")),
        ("torch-pickle", "utf8", value(b"}X\x01\0\0\0\xffNs")),
        ("torch-pickle", "leading-zero", value(b"}X\x01\0\0\0aI0500\ns")),
        ("torch-pickle", "long-suffix", value(b"}X\x01\0\0\0aI500L\ns")),
        ("torch-pickle", "utf8-unused", value(b"}}X\x01\0\0\0\xffNsb")),
        (
            "torch-pickle",
            "frame-in-instruction",
            of(b"\x80\x04\x95\x03\0\0\0\0\0\0\0}\x8c\x01aNs."),
        ),
        ("torch-pickle", "frame-in-frame", {
            of(b"\x80\x04\x95\x0b\0\0\0\0\0\0\0\x95\x02\0\0\0\0\0\0\0}.")
        }),
        ("torch-pickle", "list-as-key", value(b"}]Ns")),
        ("torch-pickle", "dictionary-in-set", later(b"\x8f(}\x90")),
        ("torch-pickle", "old-utf8", value(b"}U\x01\xffNs")),
        ("torch-opcode", "inst", value(b"(ios\nsystem\n")),
        ("torch-opcode", "obj", value(b"(o")),
        ("torch-opcode", "ext", value(b"\x82\x01")),
        ("torch-opcode", "dup", value(b"}2")),
        ("torch-opcode", "pop", value(b"}N0")),
        ("torch-opcode", "persid", value(b"P0\n")),
        ("torch-opcode", "protocol-again", value(b"\x80\x02}")),
        ("torch-opcode", "unknown", value(b"\xff")),
        ("torch-opcode", "later", value(b"C\x01a")),
        ("torch-opcode", "float-line", value(b"F0.5\n")),
        ("torch-opcode", "new-with-keys", later(b"ctorch\nTensor\n)}\x92")),
        ("torch-opcode", "buffer", of(b"\x80\x05\x97.")),
    ]
}

/// Returns files whose pickles name globals that are not allowed: most of them may run code, and some do not exist.
fn globals() -> Broken {
    let stacked = [text("os"), text("system"), b"\x93".to_vec()].concat();
    vec![
        ("torch-global", "os", value(&system("os"))),
        ("torch-global", "posix", value(&list(&[&system("posix"), b"a"]))),
        ("torch-global", "stacked", later(&stacked)),
        ("torch-global", "getattr", value(&global("builtins", "getattr"))),
        ("torch-global", "old-name", value(&global("__builtin__", "eval"))),
        ("torch-global", "dotted", value(&global("torch", "serialization.os.system"))),
        ("torch-global", "load", value(&global("torch", "load"))),
        ("torch-global", "empty", value(&global("", ""))),
        ("torch-global", "behind-unread", { value(&list(&[&meta(), b"a", &system("os"), b"a"])) }),
        ("torch-global", "not-text", later(b"K\x01K\x02\x93")),
        ("torch-global", "memo", {
            let kept = [text("os"), b"\x94".to_vec(), text("system"), b"\x94".to_vec()].concat();
            later(&[b"(", &kept[..], b"th\0h\x01\x93\x86"].concat())
        }),
        ("torch-global", "memo-changed", {
            value(
                &[&global("torch", "Size")[..], b"q\0", &global("os", "system"), b"q\x01h\0\x87"]
                    .concat(),
            )
        }),
        ("torch-global", "computed", {
            // The name of the global is the result of a call instead of a text.
            let name = call("torch", "Size", &[tuple(&[])]);
            later(&[text("torch"), name, b"\x93".to_vec()].concat())
        }),
        ("torch-global", "dotted-stacked", {
            later(&[text("torch"), text("serialization.os.system"), b"\x93".to_vec()].concat())
        }),
        ("torch-global", "copyreg", value(&global("copyreg", "_reconstructor"))),
        ("torch-global", "partial", value(&global("functools", "partial"))),
        ("torch-global", "attrgetter", value(&global("operator", "attrgetter"))),
        ("torch-global", "methodcaller", value(&global("_operator", "methodcaller"))),
        ("torch-global", "jit", value(&global("torch.jit.unsupported_tensor_ops", "execWrapper"))),
        ("torch-global", "jit-load", value(&global("torch.jit", "load"))),
        ("torch-global", "nested-pickle", {
            value(&call("torch.storage", "_load_from_bytes", &[text("x")]))
        }),
        ("torch-global", "loads", value(&global("_pickle", "loads"))),
        ("torch-global", "pip", value(&global("pip._internal", "main"))),
        ("torch-global", "runpy", value(&global("runpy", "_run_code"))),
        ("torch-global", "space", value(&global("torch ", "Size"))),
        ("torch-global", "carriage-return", value(b"ctorch\r\nSize\r\n")),
        ("torch-global", "not-utf8", value(b"c\xff\xfe\nsystem\n")),
        ("torch-global", "untyped", value(&global("torch", "UntypedStorage"))),
        ("torch-global", "in-state", {
            let state = dict(&[("__setstate__", system("os"))]);
            value(&[ordered(), state, b"b".to_vec()].concat())
        }),
        ("torch-global", "in-key", value(&[b"}", &system("os")[..], b"Ns"].concat())),
        ("torch-global", "in-persistent-id", {
            value(&[tuple(&[text("storage"), global("os", "system")]), b"Q".to_vec()].concat())
        }),
    ]
}

/// Returns files whose pickles have values that are not allowed.
#[expect(clippy::too_many_lines, reason = "it is a table")]
fn values() -> Broken {
    let named = |items: &[(&str, Vec<u8>)]| file(&dict(items), &[TWO]);
    let parameter = |state: Vec<u8>| {
        let args = [vector(), b"\x89".to_vec(), ordered(), state];
        call("torch._utils", "_rebuild_parameter_with_state", &args)
    };
    vec![
        ("torch-call", "no-function", value(b"})R")),
        ("torch-call", "count", value(&call("torch._utils", "_rebuild_tensor_v2", &[int(0)]))),
        ("torch-call", "dtype", value(&call("torch", "float32", &[]))),
        ("torch-call", "ordered-items", {
            value(&call("collections", "OrderedDict", &[list(&[b"K\x01", b"a"])]))
        }),
        ("torch-call", "size", {
            let float = b"G\x3f\xf0\0\0\0\0\0\0".to_vec();
            value(&call("torch", "Size", &[tuple(&[int(1), float])]))
        }),
        ("torch-call", "size-of-bools", {
            value(&call("torch", "Size", &[tuple(&[int(1), b"\x88".to_vec()])]))
        }),
        ("torch-call", "device-zeros", value(&call("torch", "device", &[text("cuda:01")]))),
        ("torch-call", "state", value(b"]}b")),
        ("torch-call", "object", value(b"ctorch\nSize\n)\x81")),
        (
            "torch-call",
            "result",
            value(&[call("torch", "Size", &[tuple(&[])]), b")R".to_vec()].concat()),
        ),
        ("torch-call", "attribute", value(&[text("system"), b")R".to_vec()].concat())),
        (
            "torch-call",
            "state-of-class",
            value(&[global("torch", "Size"), b"}b".to_vec()].concat()),
        ),
        ("torch-call", "device", value(&call("torch", "device", &[text("cuda:0"), int(1)]))),
        ("torch-call", "device-number", value(&call("torch", "device", &[text("cuda"), int(128)]))),
        ("torch-call", "grad", {
            let args = [shorts("0", 2), int(0), numbers(&[2]), numbers(&[1]), int(1), ordered()];
            file(&call("torch._utils", "_rebuild_tensor_v2", &args), &[TWO])
        }),
        ("torch-call", "no-dtype", {
            let [none, flag] = [b"N".to_vec(), b"\x89".to_vec()];
            let args =
                [shorts("0", 2), int(0), numbers(&[2]), numbers(&[1]), flag, ordered(), none];
            file(&call("torch._utils", "_rebuild_tensor_v3", &args), &[TWO])
        }),
        ("torch-call", "parameter", {
            value(&call("torch._utils", "_rebuild_parameter", &[int(0), int(1), ordered()]))
        }),
        ("torch-call", "state-key", {
            let state = [b"}".to_vec(), int(1), int(2), b"s".to_vec()].concat();
            file(&parameter(state), &[TWO])
        }),
        ("torch-call", "state-property", file(&parameter(dict(&[("real", int(5))])), &[TWO])),
        ("torch-persistent-id", "device", {
            value(&storage_on("CPU", &global("torch", "IntStorage"), "0", 0))
        }),
        ("torch-persistent-id", "device-zeros", {
            value(&storage_on("cuda:01", &global("torch", "IntStorage"), "0", 0))
        }),
        ("torch-persistent-id", "meta", {
            let storage = storage_on("meta", &global("torch", "ShortStorage"), "0", 2);
            file(&tensor(storage, 0, &[2], &[1]), &[TWO])
        }),
        ("torch-persistent-id", "kind", {
            let id = [text("x"), global("torch", "IntStorage"), text("0"), text("cpu"), int(0)];
            value(&[tuple(&id), b"Q".to_vec()].concat())
        }),
        ("torch-persistent-id", "number", value(b"K\x01Q")),
        ("torch-persistent-id", "six", {
            let id = [
                text("storage"),
                global("torch", "IntStorage"),
                text("0"),
                text("cpu"),
                int(0),
                b"N".to_vec(),
            ];
            value(&[tuple(&id), b"Q".to_vec()].concat())
        }),
        ("torch-persistent-id", "module", {
            value(&[tuple(&[text("module"), int(1)]), b"Q".to_vec()].concat())
        }),
        ("torch-memo", "missing", value(b"h\0")),
        ("torch-memo", "twice", value(b"]q\0K\x01q\0a")),
        ("torch-memo", "large", value(b"j\xff\xff\xff\xff")),
        ("torch-trailing", "byte", of(b"\x80\x02}.\0")),
        ("torch-trailing", "pickle", of(b"\x80\x02}.\x80\x02cos\nsystem\n.")),
        ("torch-duplicate-key", "text", named(&[("a", int(1)), ("a", vector())])),
        ("torch-duplicate-key", "memo", {
            file(&[b"}(".to_vec(), text("a"), b"q\0Nh\0Nu".to_vec()].concat(), &[])
        }),
        ("torch-duplicate-key", "metadata", {
            file(&with_metadata(dict(&[("version", int(1)), ("version", int(2))])), &[TWO])
        }),
        ("torch-duplicate-key", "behind-unread", {
            let twice = dict(&[("a", int(1)), ("a", int(2))]);
            value(&tuple(&[meta(), twice]))
        }),
        ("torch-duplicate-key", "ordered-items", {
            let pair = tuple(&[text("a"), int(1)]);
            let pairs = list(&[b"(", &pair, &pair, b"e"]);
            value(&call("collections", "OrderedDict", &[pairs]))
        }),
        ("torch-duplicate-key", "number", value(b"}(K\x01NM\x01\0Nu")),
        ("torch-duplicate-key", "attributes", {
            value(&dict(&[("a.b", int(1)), ("a", dict(&[("b", int(2))]))]))
        }),
        ("torch-duplicate-name", "dots", {
            named(&[("a.b", vector()), ("a", dict(&[("b", vector())]))])
        }),
        ("limit-depth", "within-itself", value(b"]q\0h\0a")),
    ]
}

/// Returns files whose members or tensors break a rule.
#[expect(clippy::too_many_lines, reason = "it is a table")]
fn archives() -> Broken {
    let add = |name: &str, bytes: &[u8]| {
        let member = Member::stored(name, bytes);
        changed(|all| all.push(member))
    };
    let note = |place: usize, bytes: &[u8]| {
        changed(|all| {
            all[place] = Member { name: all[place].name.clone(), ..Member::stored("", bytes) }
        })
    };
    let of_four = |offset: u8, shape: &[u8], strides: &[u8]| {
        file(&tensor(shorts("0", 4), offset, shape, strides), &[FOUR])
    };
    let system = pickle(&call("os", "system", &[text("true")]));
    vec![
        ("torch-folder", "second", add("other/data.pkl", &system)),
        ("torch-folder", "top", add("data.pkl", &system)),
        ("torch-folder", "no-pickle", changed(|all| drop(all.remove(0)))),
        ("torch-global", "deflated", {
            changed(|all| all[0] = Member::deflated("archive/data.pkl", &system))
        }),
        ("limit-header", "deflated", {
            changed(|all| {
                all[0] = Member::deflated("archive/data.pkl", &system);
                all[0].size = 1 << 20;
            })
        }),
        ("torch-member", "readme", add("archive/readme", b"text")),
        ("torch-member", "pickle", add("archive/extra.pkl", &system)),
        ("torch-member", "key", add("archive/data/x", b"")),
        ("torch-duplicate-member", "pickle", add("archive/data.pkl", &system)),
        ("torch-script", "code", add("archive/code/__torch__.py", b"")),
        ("torch-script", "constants", add("archive/constants.pkl", b"\x80\x02).")),
        ("torch-version", "none", changed(|all| drop(all.pop()))),
        ("torch-version", "11", note(3, b"11\n")),
        ("torch-version", "byteorder", note(1, b"middle")),
        ("torch-version", "pickle", note(3, &system)),
        ("torch-version", "alignment", add("archive/.storage_alignment", b"64 ")),
        ("torch-version", "format", add("archive/.format_version", b"")),
        ("torch-version", "id", add("archive/.data/serialization_id", b"\xff")),
        ("torch-storage", "two-classes", {
            let ints = storage("IntStorage", "0", 1);
            let both = [("a", vector()), ("b", tensor(ints, 0, &[1], &[1]))];
            file(&dict(&both), &[TWO])
        }),
        ("torch-storage", "two-devices", {
            let there = storage_on("cuda:0", &global("torch", "ShortStorage"), "0", 2);
            let both = [("a", vector()), ("b", tensor(there, 0, &[2], &[1]))];
            file(&dict(&both), &[TWO])
        }),
        ("torch-storage", "metadata", file(&with_metadata(storage("IntStorage", "0", 1)), &[TWO])),
        ("torch-storage", "behind-unread", {
            let missing = [int(0), tensor(shorts("1", 2), 0, &[2], &[1])];
            file(&dict(&[("a", vector()), ("b", meta()), ("c", tuple(&missing))]), &[TWO])
        }),
        ("torch-storage", "unused-behind-unread", {
            file(&dict(&[("a", vector()), ("b", meta())]), &[TWO, TWO])
        }),
        ("torch-storage", "long-key", {
            let key = "0".repeat(21);
            let mut all = members(&pickle(&tensor(shorts(&key, 2), 0, &[2], &[1])), &[]);
            all.push(Member::stored("archive/data/0", TWO));
            Archive::new(&all).bytes()
        }),
        ("torch-member", "long-key", add(&format!("archive/data/{}", "0".repeat(21)), b"")),
        ("torch-tensor", "metadata", {
            file(&with_metadata(tensor(shorts("1", 2), 1, &[2], &[1])), &[TWO, TWO])
        }),
        ("torch-tensor", "behind-unread", {
            let beyond = [int(0), tensor(shorts("1", 2), 1, &[2], &[1])];
            file(&dict(&[("a", vector()), ("b", meta()), ("c", tuple(&beyond))]), &[TWO, TWO])
        }),
        ("torch-tensor", "product", of_four(0, &[255; 8], &[0; 8])),
        ("torch-tensor", "product-before-0", {
            let large =
                tuple(&[b"\x8a\x06\0\0\0\0\0\x40".to_vec(), int(255), int(255), int(255), int(0)]);
            let args =
                [shorts("0", 2), int(0), large, numbers(&[0; 5]), b"\x89".to_vec(), ordered()];
            file(&call("torch._utils", "_rebuild_tensor_v2", &args), &[TWO])
        }),
        ("torch-tensor", "negative-offset-of-empty", {
            let offset = b"J\xff\xff\xff\xff".to_vec();
            let args =
                [shorts("0", 2), offset, numbers(&[0]), numbers(&[1]), b"\x89".to_vec(), ordered()];
            file(&call("torch._utils", "_rebuild_tensor_v2", &args), &[TWO])
        }),
        ("torch-tensor", "big-width", {
            big(&typed(storage("IntStorage", "0", 1), "uint16"), &[TWO])
        }),
        ("torch-storage", "missing", file(&tensor(shorts("1", 2), 0, &[2], &[1]), &[TWO])),
        ("torch-storage", "longer", file(&tensor(shorts("0", 3), 0, &[2], &[1]), &[TWO])),
        ("torch-storage", "unused", file(&dict(&[("a", vector())]), &[TWO, TWO])),
        ("torch-tensor", "gradients-with-dtype", {
            file(&typed_with(untyped("0", 2), b"\x88", "float8_e4m3fn"), &[&[0, 1]])
        }),
        ("torch-tensor", "gradients", {
            let args = [vector(), b"\x88".to_vec(), ordered()];
            file(&call("torch._utils", "_rebuild_parameter", &args), &[TWO])
        }),
        ("torch-tensor", "offset", of_four(3, &[2], &[1])),
        ("torch-tensor", "shape", of_four(0, &[5], &[1])),
        ("torch-tensor", "strides", of_four(0, &[2, 2], &[3, 1])),
        ("torch-tensor", "rank", of_four(0, &[2, 2], &[1])),
        ("torch-tensor", "overflow", of_four(0, &[255; 9], &[0; 9])),
        ("torch-tensor", "negative", {
            let negative = tuple(&[b"J\xff\xff\xff\xff".to_vec()]);
            let args =
                [shorts("0", 2), int(0), negative, numbers(&[1]), b"\x89".to_vec(), ordered()];
            file(&call("torch._utils", "_rebuild_tensor_v2", &args), &[TWO])
        }),
        ("torch-dtype", "quantized", {
            file(&tensor(storage("QInt8Storage", "0", 4), 0, &[4], &[1]), &[TWO])
        }),
        ("limit-decoded", "repeated", of_four(0, &[255, 255, 255, 255], &[0, 0, 0, 0])),
        ("limit-decoded-total", "repeated", {
            let large = tensor(shorts("0", 4), 0, &[255, 255, 255, 127], &[0, 0, 0, 0]);
            let list = [&b"]("[..], &large, b"q\0", &b"h\0".repeat(20), b"e"].concat();
            file(&list, &[FOUR])
        }),
        ("torch-value", "deflated-part", {
            changed(|all| {
                all[0] = Member::stored(
                    "archive/data.pkl",
                    &pickle(&tensor(shorts("0", 2), 1, &[1], &[1])),
                );
                all[2] = Member::deflated("archive/data/0", TWO);
            })
        }),
    ]
}

/// Returns files whose zip archive breaks a rule of zip archives in general, or whose data breaks the rule of bools.
fn members_of_zip() -> Broken {
    let attributes = |attributes: (u16, u32)| changed(|all| all[2].attributes = attributes);
    vec![
        ("zip-attributes", "directory", attributes((0, 0x10))),
        ("zip-attributes", "directory-of-unix", attributes((0, 0o040_755 << 16))),
        ("zip-attributes", "link", attributes((0, 0o120_777 << 16))),
        ("zip-attributes", "pipe", attributes((0, 0o010_644 << 16))),
        ("zip-attributes", "volume", attributes((0, 0x08))),
        ("zip-attributes", "device", attributes((0, 0x40))),
        ("zip-attributes", "reparse-point", attributes((0, 0x400))),
        ("zip-attributes", "records", attributes((2, 0))),
        ("zip-crc", "zero", changed(|all| all[2].crc = 0)),
        ("zip-crc", "zeros", {
            changed(|all| all.iter_mut().skip(1).for_each(|member| member.crc = 0))
        }),
        ("zip-crc", "pickle", changed(|all| all[0].crc ^= 1)),
        ("zip-crc", "byteorder", changed(|all| all[1].crc ^= 1)),
        ("zip-crc", "version", changed(|all| all[3].crc ^= 1)),
        ("zip-crc", "storage", changed(|all| all[2].crc ^= 1)),
        ("zip-crc", "part", {
            changed(|all| {
                let part = dict(&[
                    ("a", tensor(shorts("0", 2), 1, &[1], &[1])),
                    ("b", tensor(shorts("0", 2), 0, &[1], &[1])),
                ]);
                all[0] = Member::stored("archive/data.pkl", &pickle(&part));
                all[2].crc ^= 1;
            })
        }),
        ("zip-crc", "strided", {
            let value = tensor(shorts("0", 4), 0, &[2], &[3]);
            let mut all = members(&pickle(&value), &[FOUR]);
            all[2].crc ^= 1;
            Archive::new(&all).bytes()
        }),
        ("zip-deflate", "pickle", {
            let packed = pickle(&dict(&[("a", vector())]));
            changed(|all| {
                all[0] = Member::deflated("archive/data.pkl", &packed);
                all[0].packed[0] |= 6;
            })
        }),
        ("zip-length", "pickle", {
            let packed = pickle(&dict(&[("a", vector())]));
            changed(|all| {
                all[0] = Member::deflated("archive/data.pkl", &packed);
                all[0].size -= 1;
            })
        }),
        ("zip-name", "code-page", changed(|all| all[2].name = b"archive/data/\xe4".to_vec())),
        ("zip-encrypted", "flag", changed(|all| all[0].flags = 1)),
        ("zip-extra", "padding", changed(|all| all[2].extra = b"FB\x01\0X".to_vec())),
        ("zip-contiguous", "between", changed(|all| all[2].behind = vec![0])),
        ("zip-end-record", "behind", [&changed(|_| {})[..], b"x"].concat()),
        ("tensor-bool-value", "2", {
            file(&tensor(storage("BoolStorage", "0", 2), 0, &[2], &[1]), &[&[0, 2]])
        }),
        ("tensor-bool-value", "repeated", {
            let repeated =
                tensor(storage("BoolStorage", "0", 3), 0, &[200, 200, 200, 2], &[0, 0, 0, 2]);
            file(&repeated, &[&[0, 1, 2]])
        }),
        ("tensor-bool-value", "apart", {
            file(&tensor(storage("BoolStorage", "0", 3), 0, &[2], &[2]), &[&[0, 1, 2]])
        }),
    ]
}

pub(super) fn all(cases: &mut Cases) {
    for (name, bytes) in accepted().into_iter().chain(accepted_rarely()) {
        cases.accept("torch", &format!("{name}.pt"), bytes);
    }
    for (rule, name, bytes) in
        [instructions(), globals(), values(), archives(), members_of_zip()].into_iter().flatten()
    {
        cases.reject("torch", (rule, &format!("{name}.pt")), bytes);
    }
}
