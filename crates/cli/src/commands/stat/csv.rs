//! The comma-separated values of `zten stat`, in the form of RFC 4180.

use std::io::{self, Write};

use zten::Tensor;

use super::{Found, dtype};
use crate::escape::{Escaped, Quoted};

/// The columns. Numbers have the meaning that `docs/json.md` gives for `statistics`.
const HEADER: &str = "name,layout,dtype,shape,count,zeros,nan,infinities,min,max,mean,deviation,implied_zeros,skipped";

/// Prints the header, and a line for each tensor.
pub(super) fn print(out: &mut dyn Write, found: &[(Tensor<'_>, Found)]) -> io::Result<()> {
    writeln!(out, "{HEADER}")?;
    for (object, found) in found {
        let shape: Vec<_> = object.shape().iter().map(ToString::to_string).collect();
        for text in [&*name(object.name()), &name(object.layout_name()), &dtype(object)] {
            write!(out, "{},", field(text))?;
        }
        write!(out, "{},", shape.join("x"))?;
        match found {
            Found::Read(read) => {
                let own = &read.statistics;
                for count in [own.count, own.zeros, own.nan, own.infinities] {
                    write!(out, "{count},")?;
                }
                for number in [own.min, own.max, own.mean(), own.deviation()] {
                    // The shortest digits that give the same double.
                    let text = number.map(|number| format!("{number:?}"));
                    write!(out, "{},", text.unwrap_or_default())?;
                }
                write!(
                    out,
                    "{},",
                    read.implied.map(|count| count.to_string()).unwrap_or_default()
                )?;
            }
            Found::Skipped(_) | Found::Unread(_) => write!(out, "{:,<9}", "")?,
        }
        writeln!(out, "{}", field(&found.skipped().unwrap_or_default()))?;
    }
    Ok(())
}

/// Returns a name as it is, or between quotes with escapes if it contains a character that is escaped. A name that begins as a
/// formula does is quoted, too: a spreadsheet would compute the formula, and the file that holds the name is untrusted.
fn name(name: &str) -> String {
    let is_formula = name.starts_with(['=', '+', '-', '@']);
    if is_formula || Escaped(name).to_string() != name {
        Quoted(name).to_string()
    } else {
        name.to_owned()
    }
}

/// Puts `text` between quotes if it contains a character that has a meaning in comma-separated values.
fn field(text: &str) -> String {
    if text.contains(['"', ',']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_neither_formulas_nor_several_fields() {
        for (text, wanted) in [
            ("layers.0.weight", "layers.0.weight"),
            ("a,b", "\"a,b\""),
            ("a b/c", "a b/c"),
            ("=1+1", "\"\"\"=1+1\"\"\""),
            ("a\n\u{1b}", "\"\"\"a\\u{a}\\u{1b}\"\"\""),
        ] {
            assert_eq!(field(&name(text)), wanted);
        }
    }
}
