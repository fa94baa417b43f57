//! Tests that work on several objects at the same time has the same result as work on one after another.

use crate::files::{file, object, raw};
use crate::{command, failed, succeeded, succeeded_text, zten};

const OBJECTS: usize = 40;
const LENGTH: usize = 64 << 10;

/// Writes a file of booleans that is large enough for threads. The objects in `bad` have the invalid value 2 at their end.
fn bools(name: &str, bad: &[usize]) -> String {
    let mut data = vec![1; OBJECTS * LENGTH];
    for object in bad {
        data[(object + 1) * LENGTH - 1] = 2;
    }
    let names: Vec<String> = (0..OBJECTS).map(|ordinal| format!("object {ordinal:02}")).collect();
    let objects: Vec<_> = names
        .iter()
        .enumerate()
        .map(|(ordinal, name)| {
            let component = ("data", raw("bool", 64 + ordinal * LENGTH, LENGTH, &[]));
            (name.as_str(), object("dense", &[LENGTH], &[component]))
        })
        .collect();
    file(name, &objects, &data).to_str().unwrap().to_owned()
}

#[test]
fn the_first_bad_object_is_reported() {
    let path = bools("threads-bad.zt", &[38, 17, 18, 31]);
    for _ in 0..20 {
        for command in ["check", "hash", "stat"] {
            let message = failed(zten([command, &path]), 1);
            assert!(message.contains("in \"object 17\"/data"), "{command}: {message}");
            let others = "3 more tensors are invalid: \"object 18\", \"object 31\", \"object 38\"";
            assert_eq!(message.contains(others), command == "check", "{message}");
        }
    }
}

#[test]
fn a_good_file_is_good_and_its_sums_are_in_order() {
    let path = bools("threads-valid.zt", &[]);
    let valid = succeeded_text(zten(["check", &path]));
    assert!(valid.contains("valid (1.2, 40 tensors, 40 components, 2.5 MiB of data)"), "{valid}");
    let sums = succeeded_text(zten(["hash", &path]));
    let names: Vec<_> =
        sums.lines().skip(1).map(|line| line.rsplit("  ").next().unwrap()).collect();
    assert_eq!(names.len(), OBJECTS);
    assert!(names.is_sorted(), "{names:?}");
}

/// Checks that commands succeed on 64 threads and a large file, when the C library also gives memory back to the system in the
/// confined process. The C library returns memory only in large amounts.
#[test]
fn many_threads_give_memory_back() {
    let (objects, length) = (64, 1 << 20);
    let names: Vec<String> = (0..objects).map(|ordinal| format!("{ordinal:02}")).collect();
    let objects: Vec<_> = names
        .iter()
        .enumerate()
        .map(|(ordinal, name)| {
            let component = ("data", raw("u8", 64 + ordinal * length, length, &[]));
            (name.as_str(), object("dense", &[length], &[component]))
        })
        .collect();
    let path = file("threads-many.zt", &objects, &vec![0; objects.len() * length]);
    for _ in 0..5 {
        for command_name in ["check", "hash", "stat"] {
            let mut command = command();
            command.env("RAYON_NUM_THREADS", "64").arg(command_name).arg(&path);
            assert!(!succeeded(command.output().unwrap()).is_empty());
        }
    }
    std::fs::remove_file(path).unwrap();
}
