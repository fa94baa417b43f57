//! What the page may ask of an open file, beside the exports by which it is opened.

use std::io::{BufWriter, Write};

use zten_guest::border::{Out, Source, on_file, with};
use zten_guest::exports;

use crate::{describe, picture, save, statistics, validate};

exports! {
    /// Escapes the name that has been put there.
    fn name() -> u32 {
        with(|state, out| describe::name(&state.input(), out))
    }

    /// Says what the file is.
    fn file() -> u32 {
        on_file(describe::file)
    }

    /// Lists objects.
    fn list(first: u32, count: u32) -> u32 {
        on_file(|file, out| describe::list(file, first, count, out))
    }

    /// Says all of one object.
    fn object(ordinal: u32) -> u32 {
        on_file(|file, out| describe::object(file, ordinal, out))
    }

    /// Validates all content.
    fn validate_all() -> u32 {
        on_file(|file, out| validate::all(file, &Source, out))
    }

    /// Validates one component.
    fn validate_component(object: u32, component: u32) -> u32 {
        on_file(|file, out| validate::component(file, (object, component), &Source, out))
    }

    /// What the elements of a component are like.
    fn statistics(object: u32, component: u32) -> u32 {
        on_file(|file, out| statistics::component(file, (object, component), &Source, out))
    }

    /// A picture of an object.
    fn picture(object: u32) -> u32 {
        on_file(|file, out| picture::object(file, object, &Source, out))
    }

    /// A component as a NumPy file.
    fn save(object: u32, component: u32) -> u32 {
        on_file(|file, out| {
            let mut data = BufWriter::with_capacity(1 << 20, Out::Data);
            save::component(file, (object, component), &Source, &mut data, out)?;
            data.flush()
        })
    }
}
