//! What differs, for people and for programs.

use std::io::{self, Write};

use super::differences::{Difference, Differences};
use crate::escape::Quoted;
use crate::json::Json;

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
    let Differences { attributes, objects } = differences;
    let mut json = Json::document(out)?;
    json.key("equal")?;
    json.plain(!attributes && objects.is_empty())?;
    names(&mut json, "added", differences, |difference| matches!(difference, Difference::Added))?;
    names(&mut json, "removed", differences, |difference| {
        matches!(difference, Difference::Removed)
    })?;
    json.key("changed")?;
    json.open('[')?;
    for (name, difference) in objects {
        let Difference::Changed(changes) = difference else { continue };
        json.open('{')?;
        json.key("name")?;
        json.string(name)?;
        json.key("what")?;
        json.open('[')?;
        changes.iter().try_for_each(|change| json.string(change.what))?;
        json.close(']')?;
        json.close('}')?;
    }
    json.close(']')?;
    json.key("attributes")?;
    json.plain(attributes)?;
    json.close('}')?;
    json.line()
}

/// The names of some objects.
fn names<W: Write>(
    json: &mut Json<'_, W>,
    key: &str,
    differences: &Differences<'_>,
    wanted: impl Fn(&Difference) -> bool,
) -> io::Result<()> {
    json.key(key)?;
    json.open('[')?;
    let wanted = differences.objects.iter().filter(|(_, difference)| wanted(difference));
    wanted.map(|(name, _)| name).try_for_each(|name| json.string(name))?;
    json.close(']')
}
