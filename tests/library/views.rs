//! Tests of views of elements at any address: borrowed, unaligned, big-endian, and the errors if elements cannot be borrowed.

use half::{bf16, f16};
use zten::{Archive, Element, attributes::Value, element::ByteOrder, error::Misuse, view::View};
use zten_testkit::{borrows, misuse, placed, read_accepted as read, slice};

fn view<'d>(file: &'d [u8], name: &str) -> View<'d> {
    let archive = Archive::from_bytes(file).unwrap();
    let data = archive.tensor(name).unwrap().dense().unwrap();
    data.bind(slice(file, data.extent().range())).unwrap()
}

/// Returns the elements of the tensor `name`. Checks that borrowed and unaligned elements are equal, wherever the
/// file is in memory. Elements in another byte order than that of the machine cannot be borrowed at any address.
fn everywhere<T: Element + std::fmt::Debug>(file: &[u8], name: &str) -> Vec<T> {
    let (aligned, odd) = (placed(file, 0), placed(file, 1));
    let (here, there) = (view(&aligned, name), view(&odd, name));
    let elements: Vec<T> = here.elements().unwrap().collect();
    assert_eq!(there.to_vec::<T>().unwrap(), elements, "{name}");
    if size_of::<T>() > 1 {
        let order = here.byte_order();
        borrows(here.as_slice::<T>(), order, &elements);
        let native = order == ByteOrder::NATIVE;
        let why = if native { Misuse::Alignment } else { Misuse::ByteOrder };
        assert_eq!(misuse(there.as_slice::<T>().unwrap_err()), why, "{name}");
    } else {
        assert_eq!(here.as_slice::<T>().unwrap(), elements, "{name}");
        assert_eq!(there.as_slice::<T>().unwrap(), elements, "{name}");
    }
    for (at, element) in elements.iter().enumerate() {
        assert_eq!(here.elements::<T>().unwrap().get(at), Some(*element));
        assert_eq!(here.elements::<T>().unwrap().nth(at), Some(*element));
    }
    assert_eq!(here.elements::<T>().unwrap().get(elements.len()), None);
    elements
}

#[test]
fn every_storage_type_is_read_at_any_address() {
    let file = read("1.2.3/dense_all.zt");
    assert_eq!(everywhere::<f32>(&file, "t_f32").len(), 6);
    everywhere::<f64>(&file, "t_f64");
    everywhere::<f16>(&file, "t_f16");
    everywhere::<bf16>(&file, "t_bf16");
    everywhere::<i64>(&file, "t_i64");
    everywhere::<i32>(&file, "t_i32");
    everywhere::<i16>(&file, "t_i16");
    everywhere::<i8>(&file, "t_i8");
    everywhere::<u64>(&file, "t_u64");
    everywhere::<u32>(&file, "t_u32");
    everywhere::<u16>(&file, "t_u16");
    everywhere::<u8>(&file, "t_u8");
    assert_eq!(everywhere::<bool>(&file, "t_bool"), [true, false, false, true, false, false]);
}

#[test]
fn big_endian_elements_have_the_right_values() {
    // The test of the corpus compares the bytes of all big-endian files. This test reads the elements of one.
    let file = read("0.1.0/big_endian.zt");
    let (big, little) = (view(&file, "be_f32"), view(&file, "le_explicit"));
    assert_eq!((big.byte_order(), little.byte_order()), (ByteOrder::Big, ByteOrder::Little));
    assert_ne!(big.as_bytes()[..8], little.as_bytes()[..8]);
    let elements: Vec<f32> = big.elements().unwrap().take(2).collect();
    assert_eq!(elements, [-1.25, -0.75]);
    assert_eq!(little.elements::<f32>().unwrap().take(2).collect::<Vec<_>>(), elements);
    // Elements of one byte have no byte order.
    assert!(view(&file, "be_u8").as_slice::<u8>().is_ok());
    assert_eq!(everywhere::<i8>(&file, "be_i8")[..2], [-3, 4]);
    assert_eq!(everywhere::<f32>(&file, "be_f32"), everywhere::<f32>(&file, "le_explicit"));
    everywhere::<f64>(&file, "be_f64");
    everywhere::<f16>(&file, "be_f16");
    everywhere::<bf16>(&file, "be_bf16");
    everywhere::<i64>(&file, "be_i64");
    everywhere::<i32>(&file, "be_i32");
    everywhere::<i16>(&file, "be_i16");
    everywhere::<u64>(&file, "be_u64");
    everywhere::<u32>(&file, "be_u32");
    everywhere::<u16>(&file, "be_u16");
}

/// Signaling NaNs with a payload keep their bits when they are read. Some machines change such bits when a float is
/// moved.
#[test]
fn signalling_nans_keep_their_bits() {
    let (single, double) = (0x7fa1_2345_u32, 0xfff4_5678_9abc_def1_u64);
    let mut file = read("1.2.3/dense_all.zt");
    let archive = Archive::from_bytes(&file).unwrap();
    let start = |name| archive.tensor(name).unwrap().component("data").unwrap().extent().offset();
    let starts = [start("t_f32"), start("t_f64")].map(|start| usize::try_from(start).unwrap());
    file[starts[0]..][..4].copy_from_slice(&single.to_le_bytes());
    file[starts[1]..][..8].copy_from_slice(&double.to_le_bytes());
    let (floats, doubles) = (view(&file, "t_f32"), view(&file, "t_f64"));
    let mut elements = floats.elements::<f32>().unwrap();
    assert_eq!(elements.get(0).map(f32::to_bits), Some(single));
    assert_eq!(elements.next().map(f32::to_bits), Some(single));
    assert_eq!(floats.to_vec::<f32>().unwrap()[0].to_bits(), single);
    let mut elements = doubles.elements::<f64>().unwrap();
    assert_eq!(elements.get(0).map(f64::to_bits), Some(double));
    assert_eq!(elements.next().map(f64::to_bits), Some(double));
    assert_eq!(doubles.to_vec::<f64>().unwrap()[0].to_bits(), double);
}

#[test]
fn elements_that_cannot_be_borrowed_are_errors() {
    let file = read("1.2.3/dense_all.zt");
    let archive = Archive::from_bytes(&file).unwrap();
    let data = archive.tensor("t_f32").unwrap().component("data").unwrap();
    assert_eq!(misuse(data.bind(&file[..23]).unwrap_err()), Misuse::Size);
    let view = data.view().unwrap();
    assert_eq!(misuse(view.as_slice::<i32>().unwrap_err()), Misuse::Type);
    assert_eq!(misuse(view.elements::<u8>().unwrap_err()), Misuse::Type);

    let zstd = read("1.2.3/zstd.zt");
    let archive = Archive::from_bytes(&zstd).unwrap();
    let compressed = archive.tensors().next().unwrap().components().next().unwrap();
    assert_eq!(misuse(compressed.view().unwrap_err()), Misuse::Compressed);

    let sparse = read("1.2.3/csr_raw.zt");
    let archive = Archive::from_bytes(&sparse).unwrap();
    let object = archive.tensors().next().unwrap();
    assert_eq!(misuse(object.dense().unwrap_err()), Misuse::Layout);
}

#[test]
fn empty_views_are_always_aligned_and_partial_elements_never_read() {
    let file = read("1.2.3/zero_len.zt");
    let odd = placed(&file, 1);
    let empty = view(&odd, "z0");
    assert_eq!(empty.as_slice::<f32>().unwrap(), &[0.0_f32; 0]);

    // This entry of 0.1 has an unknown layout and 15 bytes, which are no whole number of `f32`.
    let file = read("unsupported-layout--v01-any-size.zt");
    let archive = Archive::from_bytes(&file).unwrap();
    let entry = archive.tensors().next().unwrap().components().next().unwrap();
    let view = entry.view().unwrap();
    assert_eq!(view.as_bytes().len(), 15);
    let native = view.byte_order() == ByteOrder::NATIVE;
    let why = if native { Misuse::Size } else { Misuse::ByteOrder };
    assert_eq!(misuse(view.as_slice::<f32>().unwrap_err()), why);
    assert_eq!(view.elements::<f32>().unwrap().count(), 3);
}

#[test]
fn bools_are_validated_before_they_are_handed_out() {
    let file = zten_testkit::read("reject/interop/bool-value--1.2.3-bool_two.zt");
    let view = view(&file, "b");
    let error = view.as_slice::<bool>().unwrap_err();
    assert_eq!((error.rule(), error.offset()), (Some("bool-value"), Some(66)));
    assert_eq!(view.elements::<bool>().unwrap_err().rule(), Some("bool-value"));
    assert_eq!(view.as_bytes(), [0, 1, 2, 255]);
}

#[test]
fn bools_of_0_1_may_be_any_byte() {
    let file = read("v01-bool-2-first.zt");
    let archive = Archive::from_bytes(&file).unwrap();
    let entry = archive.tensors().next().unwrap().components().next().unwrap();
    let view = entry.view().unwrap();
    assert_eq!(misuse(view.as_slice::<bool>().unwrap_err()), Misuse::BoolBytes);
    assert_eq!(view.elements::<bool>().unwrap().next(), Some(true));
}

#[test]
fn attributes_are_a_tree_and_serde_types() {
    let file = read("0.1.0/custom_fields.zt");
    let archive = Archive::from_bytes(&file).unwrap();
    let fields = archive.tensor("c").unwrap().fields().unwrap();
    assert_eq!(fields.get::<f64>("f2").unwrap(), Some(0.1));
    assert_eq!(fields.get::<&str>("author").unwrap(), Some("me"));
    assert_eq!(fields.get::<i8>("zlast").unwrap(), Some(-5));
    assert_eq!(fields.get::<Option<u8>>("n").unwrap(), Some(None));
    assert_eq!(fields.get::<u8>("missing").unwrap(), None);
    assert_eq!(misuse(fields.get::<u8>("author").unwrap_err()), Misuse::Type);
    assert_eq!(fields.item("f").unwrap().value(), Value::Float(1.5));
    assert_eq!(fields.item("b").unwrap().value(), Value::Bool(true));
    assert_eq!(fields.item("zlast").unwrap().value(), Value::Negative(4));
    let Value::Bytes(bytes) = fields.item("bytes").unwrap().value() else { panic!() };
    assert_eq!(bytes.as_bytes(), Some(&[1, 2, 3][..]));
    let Value::Array(array) = fields.item("arr").unwrap().value() else { panic!() };
    let array: Vec<_> = array.map(|item| item.value()).collect();
    assert!(matches!(array[..], [Value::Uint(1), Value::Text(_)]), "{array:?}");
    let Value::Map(map) = fields.item("map").unwrap().value() else { panic!() };
    let keys: Vec<_> = map.map(|(key, value)| (key.value(), value.value())).collect();
    assert_eq!(keys[0], (Value::Uint(3), Value::Bool(false)));
    assert_eq!(keys[1].1, Value::Uint(1 << 40));

    let file = read("1.1.1/attributes.zt");
    let archive = Archive::from_bytes(&file).unwrap();
    let attributes = archive.attributes();
    assert_eq!(attributes.get::<String>("").unwrap().as_deref(), Some(""));
    assert_eq!(attributes.get::<&str>("\u{540d}").unwrap(), Some("\u{5024}"));
    assert_eq!(attributes.count(), 4);
}
