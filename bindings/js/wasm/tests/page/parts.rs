//! Tests of parts of dense, quantized and sparse tensors.

use std::fs;
use std::sync::{Mutex, MutexGuard};

use serde_json::{Value, json};
use zten::json::Integer;
use zten::number::{NumberKind, Style};
use zten::{Layout, Tensor};
use zten_js::page::values;
use zten_js::session::{File, Session};

use super::{accepted, answer, corpus, files, open, open_named};

/// Selecting a part and asking for it are two calls, between which no other test may select a part.
static TURN: Mutex<()> = Mutex::new(());

fn select(ranges: &[u64]) -> MutexGuard<'static, ()> {
    let turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    values::select(&ranges.iter().flat_map(|index| index.to_le_bytes()).collect::<Vec<_>>());
    turn
}

/// Returns the answer about the elements of a part of an object.
fn elements(file: &File, ordinal: u32, ranges: &[u64]) -> Value {
    let _turn = select(ranges);
    answer(|out| values::object(file, ordinal, out).unwrap())
}

#[test]
fn values_of_a_part_are_returned() {
    let path = corpus("accept/1.2.3").into_iter().find(|path| path.ends_with("dense_all.zt"));
    let (Session::Open(file), _) = open(&fs::read(path.unwrap()).unwrap()) else { panic!("valid") };
    let ordinal = file.tensor("t_f32").unwrap().ordinal();
    let select = |ranges: &[u64]| elements(file, ordinal, ranges);
    assert_eq!(select(&[0, 2, 1, 2])["values"], json!(["-0.75", "0.75"]));
    assert_eq!(select(&[])["values"].as_array().unwrap().len(), 6);
    for beyond in [&[0, 3][..], &[2, 1], &[0, 1, 0, 1, 0, 1], &[0, u64::MAX]] {
        assert_eq!(select(beyond)["verdict"], "error", "{beyond:?}");
    }
}

/// Formats a float as text, as the web page that checks files shows it.
fn text(value: f32) -> String {
    let mut text = Vec::new();
    let kind = NumberKind::Plain(zten::element::StorageType::F32);
    kind.write(&mut text, &value.to_le_bytes(), Style::Text).unwrap();
    String::from_utf8(text).unwrap()
}

/// Returns parts of at most 64 elements at the beginning, in the middle and at the end of an array of `shape`: the ranges of each
/// part, and the positions of its elements.
fn parts(shape: &[u64]) -> Vec<(Vec<u64>, Vec<usize>)> {
    let mut found = Vec::new();
    for place in 0..3 {
        let mut ranges = Vec::new();
        let mut positions = vec![0_usize];
        for (at, size) in shape.iter().enumerate() {
            let count = size.min(&if at + 1 == shape.len() { 8 } else { 2 }).to_owned();
            let start = (size - count) * place / 2;
            ranges.extend([start, start + count]);
            positions = positions
                .iter()
                .flat_map(|outer| {
                    (start..start + count).map(move |index| outer * *size as usize + index as usize)
                })
                .collect();
        }
        found.push((ranges, positions));
    }
    found
}

/// Returns whether the elements of `tensor` are computed, or share their bytes with other elements.
fn is_computed(tensor: &Tensor<'_>) -> bool {
    tensor.is_quantized()
        || tensor.dtype() == zten::DType::F4E2M1 && tensor.layout() == Layout::Dense
}

#[test]
fn elements_of_quantized_tensors_are_those_of_the_library() {
    let others = ["other/gguf/accept", "gguf-blocks", "conventions"].map(files).concat();
    let (mut tensors, mut layouts) = (0, std::collections::BTreeSet::new());
    for path in accepted().into_iter().chain(files("quantized")).chain(others) {
        let ends = ["zt", "gguf", "safetensors"];
        let is_read = path.extension().is_some_and(|end| ends.iter().any(|own| end == *own));
        let Session::Open(file) = (if is_read { open_named(&path).0 } else { continue }) else {
            continue;
        };
        for tensor in file.tensors().filter(is_computed) {
            let place = format!("{} {}", path.display(), tensor.name());
            let Ok(all) = tensor.to_f32() else {
                let said = elements(file, tensor.ordinal(), &vec![0; 2 * tensor.shape().len()]);
                assert!(said["verdict"].is_string() || said["values"] == json!([]), "{place}");
                continue;
            };
            let shape = if all.is_empty() { &[] } else { tensor.shape() };
            for (ranges, positions) in parts(shape).into_iter().filter(|_| !all.is_empty()) {
                let said = elements(file, tensor.ordinal(), &ranges);
                let wanted: Vec<_> = positions.iter().map(|at| text(all[*at])).collect();
                assert_eq!(said["values"], json!(wanted), "{place} {ranges:?}");
            }
            // Ranges beyond the end of the dimensions, ranges whose end is before their start, and a list without ranges
            // are rejected.
            let rank = tensor.shape().len();
            for (start, end) in [(0, u64::MAX), (1, 0)] {
                let said = elements(file, tensor.ordinal(), &[start, end].repeat(rank));
                assert_eq!(said["verdict"], "error", "{place}");
            }
            assert_eq!(elements(file, tensor.ordinal(), &[])["verdict"], "error", "{place}");
            tensors += 1;
            layouts.insert(tensor.layout_name().to_owned());
        }
    }
    let layouts_of_files =
        ["quantized_group", "zt.mx/1", "zt.quant_group/1", "dense", "gguf.q4_0", "gguf.q4_k/1"];
    let conventions = zten::conventions::Convention::ALL.map(zten::conventions::Convention::layout);
    for layout in layouts_of_files.into_iter().chain(conventions) {
        assert!(layouts.contains(layout), "no {layout} among {layouts:?}");
    }
    assert!(tensors > 40, "{tensors}");
}

#[test]
fn entries_of_sparse_tensors_are_those_of_the_library() {
    let (mut tensors, mut entries) = (0, 0);
    for path in accepted().into_iter().chain(files("other/torch/accept")) {
        let (Session::Open(file), _) = open_named(&path) else { panic!("{}", path.display()) };
        for tensor in file.tensors() {
            let place = format!("{} {}", path.display(), tensor.name());
            let is_read = match tensor.layout() {
                Layout::SparseCsr => tensor.csr().is_ok(),
                Layout::SparseCoo => tensor.coo().is_ok(),
                _ => continue,
            };
            if !is_read {
                let _turn = select(&[0, 1]);
                let said = answer(|out| values::entries(file, tensor.ordinal(), out).unwrap());
                assert_eq!(said["verdict"], "unsupported", "{place}");
                continue;
            }
            let coordinates: Vec<Vec<u64>> = if tensor.layout() == Layout::SparseCsr {
                let csr = tensor.csr().unwrap();
                let columns: Vec<u64> = csr.indices().widened().collect();
                let row = |row| csr.row_range(row).unwrap().map(move |entry| (row, entry));
                let entries = (0..csr.rows()).flat_map(row);
                entries.map(|(row, entry)| vec![row, columns[entry]]).collect()
            } else {
                let coo = tensor.coo().unwrap();
                (0..coo.nnz()).map(|entry| coo.coordinate(entry).unwrap().collect()).collect()
            };
            let own = tensor.component("values").unwrap();
            let Some(kind) = NumberKind::of_component(&own) else { continue };
            let read = own.read().unwrap();
            let mut texts = Vec::new();
            for bytes in read.chunks_exact(kind.width()) {
                let mut text = Vec::new();
                kind.write(&mut text, bytes, Style::Text).unwrap();
                texts.push(String::from_utf8(text).unwrap());
            }
            let total = coordinates.len();
            for (start, end) in [(0, 64), (1, 3), (0, 0), (total as u64, u64::MAX)] {
                let _turn = select(&[start, end]);
                let said = answer(|out| values::entries(file, tensor.ordinal(), out).unwrap());
                let range = (start as usize).min(total)..(end as usize).min(total);
                assert_eq!(said["total"], total, "{place}");
                let wanted = coordinates[range.clone()].iter().map(|at| {
                    at.iter().map(|index| serde_json::to_value(Integer(*index)).unwrap()).collect()
                });
                let wanted: Vec<Vec<Value>> = wanted.collect();
                assert_eq!(said["coordinates"], json!(wanted), "{place}");
                assert_eq!(said["values"], json!(texts[range]), "{place}");
            }
            tensors += 1;
            entries += total;
        }
    }
    assert!(tensors > 20 && entries > 60, "{tensors} {entries}");
}

#[test]
fn a_dense_tensor_has_no_entries_and_a_sparse_one_no_elements() {
    let (Session::Open(file), _) = open_named(
        &corpus("accept/1.2.3").into_iter().find(|path| path.ends_with("csr_raw.zt")).unwrap(),
    ) else {
        panic!("valid")
    };
    assert_eq!(elements(file, 0, &[0, 1, 0, 1])["verdict"], "error");
    let (Session::Open(file), _) = open_named(
        &corpus("accept/1.2.3").into_iter().find(|path| path.ends_with("dense_all.zt")).unwrap(),
    ) else {
        panic!("valid")
    };
    let _turn = select(&[0, 1]);
    assert_eq!(answer(|out| values::entries(file, 0, out).unwrap())["verdict"], "error");
}
