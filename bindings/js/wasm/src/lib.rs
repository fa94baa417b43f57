//! What the package for JavaScript asks of `zten`: each question is answered by one JSON document, and
//! bytes are handed to the host as they come. How a file is opened is in `zten_guest`.
#![cfg(target_arch = "wasm32")]

mod check;
mod list;
mod read;

use zten_guest::border::{on_file, with};
use zten_guest::exports;

exports! {
    /// Says what the file is.
    fn file() -> u32 {
        on_file(list::file)
    }

    /// Lists up to `count` objects from the one at `first` on.
    fn list(first: u32, count: u32) -> u32 {
        on_file(|file, out| list::objects(file, first, count, out))
    }

    /// Lists the object whose name has been put into the buffer, if there is one.
    fn find() -> u32 {
        let mut name = Vec::new();
        with(|state, _| {
            name = state.input();
            Ok(())
        });
        on_file(|file, out| list::find(file, &name, out))
    }

    /// Begins to read a component.
    fn stream(object: u32, component: u32) -> u32 {
        on_file(|file, out| read::stream(file, (object, component), out))
    }

    /// Reads so many decoded bytes of it, or some more, and hands them to the host where `hand` is
    /// not 0. The answer is empty as long as there may be more.
    fn advance(bytes: u64, hand: u32) -> u32 {
        on_file(|file, out| read::advance(file, bytes, hand != 0, out))
    }

    /// Reads the part of a dense object whose ranges have been put into the buffer: a start and an end
    /// for each dimension, `u64`, little-endian.
    fn slice(object: u32) -> u32 {
        let mut ranges = Vec::new();
        with(|state, _| {
            ranges = state.input();
            Ok(())
        });
        on_file(|file, out| read::slice(file, object, &ranges, out))
    }

    /// Begins to validate the file.
    fn check_begin() -> u32 {
        on_file(|file, _| check::begin(file))
    }

    /// Validates one object. The answer is empty as long as no rule is broken.
    fn check_object(object: u32) -> u32 {
        on_file(|file, out| check::object(file, object, out))
    }

    /// Says what has been found of the file, all of whose objects have been validated.
    fn check_end() -> u32 {
        on_file(check::end)
    }
}
