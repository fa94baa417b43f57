//! What differs, for people and for programs.

use std::io::{self, Write};

use serde::Serialize;

use super::differences::{Difference, Differences};
use crate::escape::Quoted;
use crate::json::{self, List, Schema};

/// One line for the attributes of the files, and one for each object that differs.
pub(super) fn lines(out: &mut impl Write, differences: &Differences<'_>) -> io::Result<()> {
    if differences.attributes {
        writeln!(out, "~ attributes")?;
    }
    for (name, difference) in &differences.objects {
        // In full: cut, two names could look the same.
        let name = Quoted(name);
        match difference {
            Difference::Added => writeln!(out, "+ {name}")?,
            Difference::Removed => writeln!(out, "- {name}")?,
            Difference::Changed(changes) => {
                write!(out, "~ {name}")?;
                let mut before = ": ";
                for change in changes {
                    write!(out, "{before}{}", change.what)?;
                    if !change.detail.is_empty() {
                        write!(out, " {}", change.detail)?;
                    }
                    before = ", ";
                }
                writeln!(out)?;
            }
        }
    }
    Ok(())
}

/// One JSON document.
pub(super) fn document(out: &mut impl Write, differences: &Differences<'_>) -> io::Result<()> {
    #[derive(Serialize)]
    struct Document<A: Serialize, R: Serialize, C: Serialize> {
        schema: Schema,
        equal: bool,
        added: A,
        removed: R,
        changed: C,
        attributes: bool,
    }
    #[derive(Serialize)]
    struct Changed<'a, W: Serialize> {
        name: &'a str,
        what: W,
    }
    let Differences { attributes, objects } = differences;
    let names = |wanted: fn(&Difference) -> bool| {
        let of = objects.iter().filter(move |(_, difference)| wanted(difference));
        List(move || of.clone().map(|(name, _)| *name))
    };
    let document = Document {
        schema: Schema,
        equal: !attributes && objects.is_empty(),
        added: names(|difference| matches!(difference, Difference::Added)),
        removed: names(|difference| matches!(difference, Difference::Removed)),
        changed: List(|| {
            objects.iter().filter_map(|(name, difference)| match difference {
                Difference::Changed(changes) => {
                    Some(Changed { name, what: List(|| changes.iter().map(|change| change.what)) })
                }
                _ => None,
            })
        }),
        attributes: *attributes,
    };
    json::to_line(out, &document)
}
