//! Writers of PyTorch checkpoints. Most functions return pickle instructions that push one value; others compose
//! pickles and archives of them.

use super::zip::{Archive, Member};

/// Returns the pickle instruction of a number of one byte.
pub fn int(number: u8) -> Vec<u8> {
    vec![b'K', number]
}

/// Returns the pickle instruction of a text.
pub fn text(text: &str) -> Vec<u8> {
    [b"X", &u32::try_from(text.len()).unwrap().to_le_bytes()[..], text.as_bytes()].concat()
}

/// Returns the pickle instruction that imports the global `name` of `module`.
pub fn global(module: &str, name: &str) -> Vec<u8> {
    format!("c{module}\n{name}\n").into_bytes()
}

/// Returns the instructions of a pickle that make a tuple. `items` are the instructions that make its items.
pub fn tuple(items: &[Vec<u8>]) -> Vec<u8> {
    [&b"("[..], &items.concat(), b"t"].concat()
}

/// Returns the pickle instructions of a tuple of numbers.
pub fn numbers(numbers: &[u8]) -> Vec<u8> {
    tuple(&numbers.iter().copied().map(int).collect::<Vec<_>>())
}

/// Returns the pickle instructions that call the global `name` of `module` with `args`.
pub fn call(module: &str, name: &str, args: &[Vec<u8>]) -> Vec<u8> {
    [global(module, name), tuple(args), b"R".to_vec()].concat()
}

/// Returns the pickle instructions of an `OrderedDict` without items.
pub fn ordered() -> Vec<u8> {
    call("collections", "OrderedDict", &[])
}

/// Returns a persistent id of a storage on the CPU: an object of `torch.{class}` with the key `key` and `length` elements.
pub fn storage(class: &str, key: &str, length: u8) -> Vec<u8> {
    storage_on("cpu", &global("torch", class), key, length)
}

/// Returns a persistent id of a storage on `device`. `class` is the opcodes of its class, and `length` its size in elements.
pub fn storage_on(device: &str, class: &[u8], key: &str, length: u8) -> Vec<u8> {
    let id = [text("storage"), class.to_vec(), text(key), text(device), int(length)];
    [tuple(&id), b"Q".to_vec()].concat()
}

/// Returns the pickle instructions of a tensor in a storage. `offset` and `strides` count elements.
pub fn tensor(storage: Vec<u8>, offset: u8, shape: &[u8], strides: &[u8]) -> Vec<u8> {
    let args =
        [storage, int(offset), numbers(shape), numbers(strides), b"\x89".to_vec(), ordered()];
    call("torch._utils", "_rebuild_tensor_v2", &args)
}

/// Returns the pickle instructions of a dictionary with texts as keys.
pub fn dict(items: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let items = items.iter().flat_map(|(key, value)| [text(key), value.clone()]);
    [&b"}("[..], &items.collect::<Vec<_>>().concat(), b"u"].concat()
}

/// Returns a pickle of protocol 2 of one value.
pub fn pickle(value: &[u8]) -> Vec<u8> {
    [b"\x80\x02", value, b"."].concat()
}

/// Returns the members of a checkpoint: a pickle, the byte order, the bytes of the storages `0`, `1`, and so on, and the version.
pub fn members(pickle: &[u8], storages: &[&[u8]]) -> Vec<Member> {
    let mut members = vec![
        Member::stored("archive/data.pkl", pickle),
        Member::stored("archive/byteorder", b"little"),
    ];
    for (bytes, key) in storages.iter().zip(0..) {
        members.push(Member::stored(&format!("archive/data/{key}"), bytes));
    }
    members.push(Member::stored("archive/version", b"3\n"));
    members
}

/// Returns a checkpoint of `value`, the pickle instructions of a value, and of the bytes of its storages.
pub fn file(value: &[u8], storages: &[&[u8]]) -> Vec<u8> {
    Archive::new(&members(&pickle(value), storages)).bytes()
}

/// Returns the pickle instructions of a list of `items`.
pub fn list_of(items: &[Vec<u8>]) -> Vec<u8> {
    [&b"]("[..], &items.concat(), b"e"].concat()
}

/// Returns the pickle instructions of a bytes object, as Python 3 writes it in protocol 2: a text that is encoded in
/// Latin-1.
pub fn encoded(bytes: &[u8]) -> Vec<u8> {
    let spelled: String = bytes.iter().map(|byte| char::from(*byte)).collect();
    call("_codecs", "encode", &[text(&spelled), text("latin1")])
}

/// Returns the pickle instructions of a new object of a class, with a state. `class` and `state` are instructions,
/// too.
pub fn new_object(class: &[u8], state: &[u8]) -> Vec<u8> {
    [class, b")\x81", state, b"b"].concat()
}

/// Returns the pickle instructions of a tensor of one element on the device `meta`.
pub fn meta() -> Vec<u8> {
    let args = [global("torch", "float32"), numbers(&[1]), numbers(&[1]), b"\x89".to_vec()];
    call("torch._utils", "_rebuild_meta_tensor_no_storage", &args)
}

/// Returns a checkpoint as PyTorch wrote it before 1.6, a stream: a value, and storages with their keys, numbers of
/// elements and bytes.
pub fn stream(value: &[u8], storages: &[(&str, u64, &[u8])]) -> Vec<u8> {
    let magic = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.".to_vec();
    let facts =
        dict(&[("protocol_version", b"M\xe9\x03".to_vec()), ("little_endian", b"\x88".to_vec())]);
    let keys: Vec<_> = storages.iter().map(|(key, ..)| text(key)).collect();
    let pickles =
        [magic, pickle(b"M\xe9\x03"), pickle(&facts), pickle(value), pickle(&list_of(&keys))];
    stream_of(&pickles, storages)
}

/// Returns a stream of the five given pickles and of storages, which need not belong together.
pub fn stream_of(pickles: &[Vec<u8>; 5], storages: &[(&str, u64, &[u8])]) -> Vec<u8> {
    let mut bytes = pickles.concat();
    for (_, count, content) in storages {
        bytes.extend(count.to_le_bytes());
        bytes.extend(*content);
    }
    bytes
}
