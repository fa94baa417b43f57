//! Cases of the corpus about values of PyTorch checkpoints beyond tensors and plain values: classes of the standard
//! library and of NumPy with the arguments that their own pickles have, sparse and unread tensors, and values that
//! are left out.

use super::Cases;
use crate::other::torch::{
    call, dict, encoded, file, global, int, list_of, members, meta, new_object, numbers, ordered,
    pickle, storage, tensor, text, tuple,
};
use crate::other::zip::{Archive, Member};

/// Bytes of two elements of 16 bits.
const TWO: &[u8] = &[1, 0, 2, 0];
/// The pickle instruction of `None`.
const NONE: &[u8] = b"N";

pub(super) fn all(cases: &mut Cases) {
    for (name, bytes) in values() {
        cases.accept("torch", &format!("values-{name}.pt"), with(&bytes));
    }
    for (name, bytes) in left_out() {
        cases.accept("torch", &format!("left-out-{name}.pt"), bytes);
    }
    for (name, bytes) in sparse() {
        cases.accept("torch", &format!("sparse-{name}.pt"), bytes);
    }
    for (name, bytes) in views() {
        cases.accept("torch", &format!("view-{name}.pt"), bytes);
    }
    for (name, bytes) in wrong_arguments() {
        cases.reject("torch", ("torch-call", &format!("values-{name}.pt")), with(&bytes));
    }
    for (rule, name, bytes) in unread() {
        cases.reject("torch", (rule, &format!("{name}.pt")), bytes);
    }
    cases.accept("torch", "keys.pt", file(&keys(), &[TWO]));
}

/// Returns the pickle instructions of a vector of two elements in the storage `0`.
fn vector() -> Vec<u8> {
    tensor(storage("ShortStorage", "0", 2), 0, &[2], &[1])
}

/// Returns a checkpoint of a dictionary with a tensor `a` and the value `value`.
fn with(value: &[u8]) -> Vec<u8> {
    file(&dict(&[("a", vector()), ("value", value.to_vec())]), &[TWO])
}

/// Returns the pickle instructions of a 64-bit float.
fn float(number: f64) -> Vec<u8> {
    [&b"G"[..], &number.to_be_bytes()].concat()
}

/// Returns the pickle instructions of a dtype of NumPy, as NumPy writes them: `name` is its name without the byte
/// order.
fn dtype(name: &str, order: &str) -> Vec<u8> {
    // The dtype of Python objects has all flags of NumPy, and text dtypes have only the flag that their memory must be
    // initialized.
    let flags = match name.as_bytes() {
        [b'O', ..] => 63,
        [b'U', ..] => 8,
        _ => 0,
    };
    dtype_with(name, order, flags)
}

/// Returns the pickle instructions of a dtype of NumPy with the flags `flags`.
fn dtype_with(name: &str, order: &str, flags: u8) -> Vec<u8> {
    let minus = b"J\xff\xff\xff\xff".to_vec();
    let none = NONE.to_vec();
    // The state of a text dtype holds the size and alignment in bytes. Other dtypes have -1 for both.
    let (size, alignment) = match name.strip_prefix('U') {
        Some(letters) => (int(letters.parse::<u8>().unwrap() * 4), int(4)),
        None => (minus.clone(), minus),
    };
    let state = tuple(&[
        int(3),
        text(order),
        none.clone(),
        none.clone(),
        none,
        size,
        alignment,
        int(flags),
    ]);
    let args = [text(name), b"\x89".to_vec(), b"\x88".to_vec()];
    [call("numpy", "dtype", &args), state, b"b".to_vec()].concat()
}

/// Returns the pickle instructions of a NumPy array of the given shape, in row-major or column-major order.
fn array(dtype: Vec<u8>, shape: &[u8], is_column_major: bool, bytes: Vec<u8>) -> Vec<u8> {
    let args = [global("numpy", "ndarray"), numbers(&[0]), encoded(b"b")];
    let order = if is_column_major { b"\x88" } else { b"\x89" };
    let state = tuple(&[int(1), numbers(shape), dtype, order.to_vec(), bytes]);
    [call("numpy.core.multiarray", "_reconstruct", &args), state, b"b".to_vec()].concat()
}

/// Returns the pickle instructions of a NumPy scalar.
fn scalar(dtype: Vec<u8>, bytes: &[u8]) -> Vec<u8> {
    call("numpy._core.multiarray", "scalar", &[dtype, encoded(bytes)])
}

/// Returns the pickle instructions of a Python `bytearray`.
fn byte_array(bytes: &str) -> Vec<u8> {
    call("builtins", "bytearray", &[text(bytes), text("latin-1")])
}

fn items(list: Vec<u8>, items: &[Vec<u8>], end: u8) -> Vec<u8> {
    [list, b"(".to_vec(), items.concat(), vec![end]].concat()
}

/// Returns values of the classes that zten reads, with the arguments that their own pickles have.
fn values() -> Vec<(&'static str, Vec<u8>)> {
    let shorts: Vec<u8> =
        [1_i16, -2, 300, -400, 5, 6].iter().flat_map(|n| n.to_le_bytes()).collect();
    let namespace = |module: &str, name: &str| {
        new_object(&global(module, name), &dict(&[("rate", float(0.5)), ("name", text("x"))]))
    };
    let delta = call("datetime", "timedelta", &[int(0), int(60), int(0)]);
    let zone = call("datetime", "timezone", std::slice::from_ref(&delta));
    let when = encoded(b"\x07\xe8\x01\x02\x03\x04\x05\x06\x07\x08");
    let uuid = [b"\x8a\x10".to_vec(), vec![7; 16]].concat();
    vec![
        ("defaultdict", {
            let empty = call("collections", "defaultdict", &[global("builtins", "list")]);
            items(empty, &[text("k"), int(1)], b'u')
        }),
        ("defaultdict-none", call("collections", "defaultdict", &[])),
        ("counter", call("collections", "Counter", &[dict(&[("k", int(2))])])),
        ("deque", items(call("collections", "deque", &[]), &[int(1), int(2)], b'e')),
        ("deque-of-length", call("collections", "deque", &[list_of(&[int(1)]), int(4)])),
        ("set", call("builtins", "set", &[list_of(&[int(1), int(2)])])),
        ("frozenset", call("__builtin__", "frozenset", &[list_of(&[int(1)])])),
        ("frozenset-as-key", {
            let key = call("builtins", "frozenset", &[list_of(&[int(1)])]);
            [b"}".to_vec(), key, int(1), b"s".to_vec()].concat()
        }),
        ("bytes", encoded(&[0, 127, 128, 255])),
        ("bytes-empty", call("__builtin__", "bytes", &[])),
        ("numpy-array-without-bytes", {
            array(dtype("f8", "<"), &[0], false, call("__builtin__", "bytes", &[]))
        }),
        ("bytearray", byte_array("\u{e4}b")),
        ("complex", call("builtins", "complex", &[float(1.0), float(-2.0)])),
        ("slice", call("builtins", "slice", &[NONE.to_vec(), int(3), NONE.to_vec()])),
        ("range", call("builtins", "range", &[int(0), int(3), int(1)])),
        ("namespace", namespace("argparse", "Namespace")),
        ("simple-namespace", {
            let empty = call("types", "SimpleNamespace", &[]);
            [empty, dict(&[("rate", float(0.5))]), b"b".to_vec()].concat()
        }),
        ("path", call("pathlib", "PosixPath", &[text("/"), text("data")])),
        ("date", call("datetime", "date", &[encoded(b"\x07\xe8\x01\x02")])),
        ("time", call("datetime", "time", &[encoded(b"\x01\x02\x03\0\0\0")])),
        ("datetime", call("datetime", "datetime", std::slice::from_ref(&when))),
        ("datetime-with-zone", call("datetime", "datetime", &[when, zone])),
        ("timedelta", delta),
        ("uuid", new_object(&global("uuid", "UUID"), &dict(&[("int", uuid)]))),
        ("decimal", call("decimal", "Decimal", &[text("-1.5E+9999")])),
        ("fraction", call("fractions", "Fraction", &[text("22/7")])),
        ("fraction-of-numbers", call("fractions", "Fraction", &[int(22), int(7)])),
        ("numpy-array", array(dtype("i2", "<"), &[2, 3], false, encoded(&le(&shorts)))),
        ("numpy-array-columns", array(dtype("i2", "<"), &[2, 3], true, encoded(&le(&shorts)))),
        ("numpy-array-big", array(dtype("i2", ">"), &[6], false, encoded(&le(&shorts)))),
        ("numpy-array-empty", array(dtype("f8", "<"), &[0, 3], false, encoded(b""))),
        ("numpy-array-text", array(dtype("U2", "<"), &[1], false, encoded(b"a\0\0\0b\0\0\0"))),
        ("numpy-array-records", array(records(16), &[2], false, encoded(&[0; 24]))),
        ("numpy-array-records-flags", array(records(0), &[2], false, encoded(&[0; 24]))),
        (
            "numpy-array-objects",
            array(dtype("O8", "|"), &[2], false, list_of(&[int(1), text("x")])),
        ),
        ("numpy-scalar", scalar(dtype("f8", "<"), &0.5_f64.to_le_bytes())),
        ("numpy-scalar-big", scalar(dtype("i4", ">"), &[0, 0, 1, 0])),
        ("numpy-scalar-bool", scalar(dtype("b1", "|"), &[1])),
        ("numpy-scalar-text", scalar(dtype("U1", "<"), b"a\0\0\0")),
        ("numpy-dtype", dtype("f8", "<")),
        ("numpy-dtype-class", call("numpy.dtypes", "Float64DType", &[])),
        ("python-2", [&b"I5000000000\n"[..]].concat()),
    ]
}

/// Returns `bytes` unchanged. The name says at the call that they are little-endian.
fn le(bytes: &[u8]) -> Vec<u8> {
    bytes.to_vec()
}

/// Returns values of classes with arguments that their own pickles do not have.
fn wrong_arguments() -> Vec<(&'static str, Vec<u8>)> {
    let wide = [b"\x8a\x05".to_vec(), vec![0, 0, 0, 0, 1]].concat();
    let zone = || call("datetime", "timedelta", &[int(0), int(60), int(0)]);
    let when = || encoded(b"\x07\xe8\x01\x02\x03\x04\x05\x06\x07\x08");
    vec![
        ("defaultdict", call("collections", "defaultdict", &[global("numpy", "ndarray")])),
        ("counter", call("collections", "Counter", &[list_of(&[])])),
        ("deque", call("collections", "deque", &[text("abc")])),
        ("frozenset", call("builtins", "frozenset", &[text("abc")])),
        ("bytearray", call("builtins", "bytearray", std::slice::from_ref(&wide))),
        ("bytearray-encoding", call("builtins", "bytearray", &[text("a"), text("utf-8")])),
        ("encode", call("_codecs", "encode", &[text("a"), text("bz2")])),
        ("encode-character", call("_codecs", "encode", &[text("\u{100}"), text("latin1")])),
        ("complex", call("builtins", "complex", &[text("1j")])),
        ("slice", call("builtins", "slice", &[list_of(&[]), int(3), NONE.to_vec()])),
        ("range", call("builtins", "range", &[int(3)])),
        ("namespace", call("argparse", "Namespace", &[int(1)])),
        ("namespace-key", {
            let state = [b"}".to_vec(), int(1), int(2), b"s".to_vec()].concat();
            new_object(&global("argparse", "Namespace"), &state)
        }),
        ("namespace-slots", {
            let state = tuple(&[NONE.to_vec(), dict(&[("a", int(1))])]);
            new_object(&global("argparse", "Namespace"), &state)
        }),
        ("path", call("pathlib", "Path", &[int(1)])),
        ("date", call("datetime", "date", &[int(1), int(1), int(1)])),
        ("time", call("datetime", "time", &[encoded(b"\x01")])),
        ("datetime", call("datetime", "datetime", &[when(), zone()])),
        ("timedelta", call("datetime", "timedelta", &[int(1)])),
        ("timezone", call("datetime", "timezone", &[int(1)])),
        ("uuid", new_object(&global("uuid", "UUID"), &dict(&[("hex", int(1))]))),
        ("decimal-exponent", call("decimal", "Decimal", &[text("1E+10000")])),
        ("decimal", call("decimal", "Decimal", std::slice::from_ref(&wide))),
        ("fraction-exponent", call("fractions", "Fraction", &[text("1E9999")])),
        ("factory", call("builtins", "list", &[])),
        ("numpy-array", call("numpy", "ndarray", &[numbers(&[1])])),
        ("numpy-array-size", array(dtype("i2", "<"), &[3], false, encoded(&[0; 4]))),
        ("numpy-array-class", {
            let args = [global("builtins", "list"), numbers(&[0]), encoded(b"b")];
            call("numpy.core.multiarray", "_reconstruct", &args)
        }),
        ("numpy-array-shape", {
            let args =
                [global("numpy", "ndarray"), tuple(std::slice::from_ref(&wide)), encoded(b"b")];
            call("numpy.core.multiarray", "_reconstruct", &args)
        }),
        ("numpy-objects-bytes", array(dtype("O8", "|"), &[1], false, encoded(&[0; 8]))),
        ("numpy-scalar", scalar(dtype("f8", "<"), &[0; 4])),
        ("numpy-dtype", call("numpy", "dtype", &[text("f8")])),
        ("numpy-dtype-class", call("numpy.dtypes", "Float64DType", &[int(1)])),
        ("numpy-dtype-flags", array(dtype_with("f8", "<", 63), &[1], false, encoded(&[0; 8]))),
        ("numpy-dtype-not-copied", {
            let args = [text("f8"), b"\x89".to_vec(), b"\x89".to_vec()];
            call("numpy", "dtype", &args)
        }),
        ("numpy-objects-flags", array(dtype_with("O8", "|", 0), &[1], false, list_of(&[int(1)]))),
        ("deque-beyond", {
            let deque = call("collections", "deque", &[list_of(&[int(1)]), int(1)]);
            items(deque, &[int(2), int(3)], b'e')
        }),
        ("tensor-state", {
            let made = tensor(storage("ShortStorage", "0", 2), 0, &[2], &[1]);
            [made, dict(&[("a", int(1))]), b"b".to_vec()].concat()
        }),
        ("parameter-slots", {
            let state = tuple(&[NONE.to_vec(), dict(&[("data", int(1))])]);
            let args = [vector(), b"\x89".to_vec(), ordered(), state];
            call("torch._utils", "_rebuild_parameter_with_state", &args)
        }),
    ]
}

/// Returns the pickle instructions of a NumPy dtype of records of an `i4` and an `f8`, with the flags `flags`: 16, or
/// 0 as old versions of NumPy write them.
fn records(flags: u8) -> Vec<u8> {
    let field = |inner: Vec<u8>, offset: u8| tuple(&[inner, int(offset)]);
    let fields = dict(&[("a", field(dtype("i4", "<"), 0)), ("b", field(dtype("f8", "<"), 4))]);
    let names = tuple(&[text("a"), text("b")]);
    let (none, size) = (NONE.to_vec(), int(12));
    let state = tuple(&[int(3), text("|"), none, names, fields, size, int(1), int(flags)]);
    let args = [text("V12"), b"\x89".to_vec(), b"\x88".to_vec()];
    [call("numpy", "dtype", &args), state, b"b".to_vec()].concat()
}

/// Returns checkpoints with values that zten cannot represent. It leaves out such a value, and opens the file.
fn left_out() -> Vec<(&'static str, Vec<u8>)> {
    let tensor_with = |hooks: Vec<u8>, more: &[Vec<u8>]| {
        let args = [
            storage("ShortStorage", "0", 2),
            int(0),
            numbers(&[2]),
            numbers(&[1]),
            b"\x89".to_vec(),
            hooks,
        ];
        call("torch._utils", "_rebuild_tensor_v2", &[&args[..], more].concat())
    };
    let parameter = |state: Vec<u8>| {
        let args = [vector(), b"\x89".to_vec(), ordered(), state];
        call("torch._utils", "_rebuild_parameter_with_state", &args)
    };
    vec![
        ("device", with(&call("torch", "device", &[text("npu:0")]))),
        ("storage", file(&storage("ShortStorage", "0", 2), &[TWO])),
        ("large-number", with(b"\x8a\x09\0\0\0\0\0\0\0\0\x01")),
        ("dictionary-attributes", {
            with(&[ordered(), dict(&[("a", int(1))]), b"b".to_vec()].concat())
        }),
        ("class", with(&global("torch", "FloatTensor"))),
        ("parameter-state", {
            let state = dict(&[("tag", list_of(&[]))]);
            file(&parameter(state), &[TWO])
        }),
        ("hooks", file(&tensor_with(dict(&[("a", int(1))]), &[]), &[TWO])),
        ("typed-tensor", {
            let args = [
                global("torch._utils", "_rebuild_tensor_v2"),
                global("torch", "Tensor"),
                tuple(&[
                    storage("ShortStorage", "0", 2),
                    int(0),
                    numbers(&[2]),
                    numbers(&[1]),
                    b"\x89".to_vec(),
                    ordered(),
                ]),
                dict(&[("tag", text("x"))]),
            ];
            file(&call("torch._tensor", "_rebuild_from_type_v2", &args), &[TWO])
        }),
    ]
}

/// Returns the pickle instructions of a layout of sparse tensors, such as `torch.sparse_coo`.
fn layout(name: &str) -> Vec<u8> {
    call("torch.serialization", "_get_layout", &[text(name)])
}

/// Returns a checkpoint of a tensor of `shape` in a storage of the class `class`. `keys` are the marks of the tensor
/// that are set, such as `conj`.
fn view(class: &str, shape: &[u8], keys: &[&str], bytes: &[u8]) -> Vec<u8> {
    let marks: Vec<_> = keys.iter().map(|key| (*key, b"\x88".to_vec())).collect();
    // In a matrix, the first dimension varies fastest, as in a transposed tensor.
    let strides: &[u8] = if shape.len() == 2 { &[1, shape[0]] } else { &[1] };
    let args = [
        storage(class, "0", shape.iter().product()),
        int(0),
        numbers(shape),
        numbers(strides),
        b"\x89".to_vec(),
        ordered(),
        dict(&marks),
    ];
    file(&dict(&[("v", call("torch._utils", "_rebuild_tensor_v2", &args))]), &[bytes])
}

/// Returns checkpoints of conjugated and negated views of the numbers from 1 on, with their names.
fn views() -> Vec<(&'static str, Vec<u8>)> {
    let floats: Vec<u8> = (1_u8..=8).flat_map(|number| f32::from(number).to_le_bytes()).collect();
    let complex = "ComplexFloatStorage";
    // The upper half of each `f32` is the same number as `bf16`.
    let halves: Vec<u8> = floats.chunks(4).flat_map(|float| float[2..].to_vec()).collect();
    vec![
        ("conjugated", view(complex, &[4], &["conj"], &floats)),
        ("conjugated-columns", view(complex, &[2, 2], &["conj"], &floats)),
        ("negated-complex", view(complex, &[4], &["neg"], &floats)),
        ("conjugated-negated", view(complex, &[4], &["conj", "neg"], &floats)),
        ("negated", view("FloatStorage", &[8], &["neg"], &floats)),
        ("negated-columns", view("BFloat16Storage", &[4, 2], &["neg"], &halves)),
    ]
}

/// Returns a checkpoint of a COO matrix of two rows and three columns: 64-bit indices in storage 0, and values in
/// storage 1.
fn coo(indices: &[i64], entries: u8) -> Vec<u8> {
    coo_of("LongStorage", &longs(indices), entries)
}

/// Returns the checkpoint of [`coo`] with indices in a storage of the class `class`.
fn coo_of(class: &str, indices: &[u8], entries: u8) -> Vec<u8> {
    let coords = tensor(storage(class, "0", entries * 2), 0, &[2, entries], &[entries, 1]);
    let values = tensor(storage("ShortStorage", "1", entries), 0, &[entries], &[1]);
    let data = tuple(&[coords, values, numbers(&[2, 3]), b"\x88".to_vec()]);
    let value = call("torch._utils", "_rebuild_sparse_tensor", &[layout("torch.sparse_coo"), data]);
    file(&dict(&[("s", value)]), &[indices, &vec![1; usize::from(entries) * 2]])
}

/// Returns a checkpoint of a sparse matrix of two rows and three columns in the compressed layout `name`: starts,
/// indices, and two values.
fn compressed(name: &str, starts: &[i64], indices: &[i64]) -> Vec<u8> {
    let (rows, count) = (u8::try_from(starts.len()).unwrap(), u8::try_from(indices.len()).unwrap());
    let part = |class: &str, key: &str, length: u8| {
        tensor(storage(class, key, length), 0, &[length], &[1])
    };
    let data = tuple(&[
        part("LongStorage", "0", rows),
        part("LongStorage", "1", count),
        part("ShortStorage", "2", count),
        numbers(&[2, 3]),
    ]);
    let value = call("torch._utils", "_rebuild_sparse_tensor", &[layout(name), data]);
    let values = vec![1; indices.len() * 2];
    file(&dict(&[("s", value)]), &[&longs(starts), &longs(indices), &values])
}

fn longs(numbers: &[i64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn sparse() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("coo", coo(&[0, 1, 2, 0], 2)),
        ("coo-repeated", coo(&[1, 1, 2, 2], 2)),
        ("coo-empty", coo(&[], 0)),
        ("csr", compressed("torch.sparse_csr", &[0, 1, 2], &[2, 0])),
    ]
}

/// Returns files with tensors that are not read, files whose sparse tensors break a rule, a dictionary that repeats a key, and a
/// program of TorchScript.
fn unread() -> Vec<(&'static str, &'static str, Vec<u8>)> {
    let quantized = {
        let scheme = tuple(&[global("torch", "per_tensor_affine"), float(0.5), int(0)]);
        let args = [
            storage("QInt8Storage", "0", 4),
            int(0),
            numbers(&[4]),
            numbers(&[1]),
            scheme,
            b"\x89".to_vec(),
            ordered(),
        ];
        call("torch._utils", "_rebuild_qtensor", &args)
    };
    let nested = {
        let part = || vector();
        let args = [part(), part(), part(), part()];
        call("torch._utils", "_rebuild_nested_tensor", &args)
    };
    let script = |more: Member| {
        let module = new_object(&global("__torch__", "Model"), &dict(&[("a", vector())]));
        let mut all = members(&pickle(&module), &[TWO]);
        all.push(more);
        Archive::new(&all).bytes()
    };
    vec![
        ("torch-value", "quantized", file(&quantized, &[&[0; 4]])),
        ("torch-value", "meta", with(&meta())),
        ("torch-value", "nested", with(&nested)),
        ("torch-value", "negated-integers", view("ShortStorage", &[2], &["neg"], TWO)),
        ("torch-value", "sparse-coo-floats", coo_of("FloatStorage", &[0; 16], 2)),
        ("torch-value", "sparse-coo-bools", coo_of("BoolStorage", &[0; 4], 2)),
        ("torch-value", "compressed-columns", {
            compressed("torch.sparse_csc", &[0, 1, 1, 2], &[1, 0])
        }),
        ("torch-call", "view-key", view("FloatStorage", &[2], &["twist"], &[0; 8])),
        ("torch-duplicate-key", "tuples", {
            let keys = [tuple(&[int(1)]), int(1), tuple(&[b"\x88".to_vec()]), int(2)];
            with(&[b"}(".to_vec(), keys.concat(), b"u".to_vec()].concat())
        }),
        ("torch-call", "sparse-layout", with(&layout("torch.dense"))),
        ("torch-call", "sparse-parts", {
            let data = tuple(&[vector(), int(0), numbers(&[2])]);
            let args = [layout("torch.sparse_coo"), data];
            with(&call("torch._utils", "_rebuild_sparse_tensor", &args))
        }),
        ("index-range", "sparse-coo", coo(&[0, 1, 3, 0], 2)),
        ("index-range", "sparse-csr", compressed("torch.sparse_csr", &[0, 1, 2], &[3, 0])),
        ("csr-indptr-order", "sparse", compressed("torch.sparse_csr", &[0, 3, 2], &[2, 0])),
        ("torch-script", "module", script(Member::stored("archive/code/__torch__.py", b""))),
    ]
}

/// Returns the instructions of a pickle that make a dictionary with keys of eight types. Its values are tensors.
fn keys() -> Vec<u8> {
    let keys: [Vec<u8>; 8] = [
        text("text"),
        int(1),
        NONE.to_vec(),
        float(0.5),
        tuple(&[int(1), text("b")]),
        encoded(b"x"),
        b"\x8a\x09\0\0\0\0\0\0\0\0\x01".to_vec(),
        global("torch", "float32"),
    ];
    let entries: Vec<u8> = keys.iter().flat_map(|key| [key.clone(), vector()].concat()).collect();
    [b"}(".to_vec(), entries, b"u".to_vec()].concat()
}
