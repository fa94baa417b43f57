//! The comma-separated values of `zten stat`, in the form of RFC 4180.

use std::io::{self, Write};

use zten::Tensor;
use zten_report::measure::{Measured, dtype};

use crate::escape::{Escaped, Quoted};

/// The columns. Numbers have the meaning that `docs/json.md` gives for `statistics`.
const HEADER: &str = "name,layout,dtype,shape,count,zeros,nan,infinities,min,max,mean,deviation,implied_zeros,skipped";

/// Prints the header, and a line for each tensor.
pub(super) fn print(out: &mut dyn Write, found: &[(Tensor<'_>, Measured)]) -> io::Result<()> {
    writeln!(out, "{HEADER}")?;
    for (object, found) in found {
        let shape: Vec<_> = object.shape().iter().map(ToString::to_string).collect();
        for text in [&*name(object.name()), &name(object.layout_name()), &dtype(object)] {
            write!(out, "{},", field(text))?;
        }
        write!(out, "{},", shape.join("x"))?;
        match found {
            Measured::Read(read) => {
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
            Measured::Skipped(_) | Measured::Unread(_) => write!(out, "{:,<9}", "")?,
        }
        writeln!(out, "{}", field(&found.skipped().unwrap_or_default()))?;
    }
    Ok(())
}

/// Returns a name as it is, or between quotes with escapes if it contains a character that is escaped.
fn name(name: &str) -> String {
    let escaped = Escaped(name).to_string();
    if escaped == name { escaped } else { format!("\"{escaped}\"") }
}

/// Returns `text` as a field. A text that begins as a formula does is quoted: a spreadsheet would compute the formula, and
/// the file that holds the name of the tensor, layout or dtype is untrusted. A text that contains a quote or a comma is put
/// between quotes, in which quotes are doubled.
fn field(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@']);
    let text = if is_formula { Quoted(text).to_string() } else { text.to_owned() };
    if text.contains(['"', ',']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
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
