//! Tests that objects are described one by one, in the order in which they are listed.

use std::cell::Cell;
use std::io::{self, Write};

use zten::json;
use zten::write::{WriteOptions, Writer};
use zten::{Archive, InMemory};
use zten_report::archive::archive;

/// A writer that discards bytes and adds their number to the cell.
struct Count<'c>(&'c Cell<usize>);

impl Write for Count<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.set(self.0.get() + bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn file() -> Archive<InMemory<Vec<u8>>> {
    let mut writer = Writer::new(Vec::new(), &WriteOptions::default()).unwrap();
    for n in 0..100 {
        writer.add(&format!("layers.{n:02}"), &[2], &[1.0_f32, 2.0]).unwrap();
    }
    Archive::from_bytes(writer.finish().unwrap()).unwrap()
}

#[test]
fn objects_are_written_as_they_are_listed() {
    let file = file();
    let written = Cell::new(0);
    let listed = Cell::new(0);
    // The number of bytes that had been written when an object was requested.
    let before = Cell::new(0);
    let objects = || {
        file.tensors().inspect(|_| {
            if written.get() > 0 {
                assert!(written.get() > before.replace(written.get()));
                listed.set(listed.get() + 1);
            }
        })
    };
    let document = archive(None, file.manifest(), objects);
    json::to_line(&mut Count(&written), &document).unwrap();
    assert_eq!(listed.get(), 100);
}

#[test]
fn selected_objects_are_written_alone() {
    let file = file();
    let document = archive(Some("a\u{202e}.zt".as_ref()), file.manifest(), || {
        file.tensors().filter(|tensor| tensor.name().ends_with('7'))
    });
    let mut out = Vec::new();
    json::to_line(&mut out, &document).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.starts_with(r#"{"schema":2,"file":"a\u202e.zt","format":"ztensor","#), "{text}");
    let read: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(read["objects"].as_array().unwrap().len(), 10);
    assert_eq!(read["objects"][1]["name"], "layers.17");
    assert_eq!(read["totals"]["objects"], 10);
    assert_eq!(read["totals"]["dtypes"][0]["stored"], 80);
}
