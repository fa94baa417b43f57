//! Rules of ours, translated into safetensors: each case is a file that breaks one of them there.

mod header;
mod tensors;
mod valid;

use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result};

/// A file, and the rule that it translates.
#[derive(Clone)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// A rule of the catalogue; none if the file is valid.
    pub(crate) rule: Option<&'static str>,
    /// What the header's length says; the header's own length if nothing.
    says: Option<u64>,
    header: Vec<u8>,
    /// Spaces after the header, which belong to it.
    spaces: usize,
    data: Vec<u8>,
    /// Bytes that are cut off at the end.
    cut: usize,
}

impl Case {
    fn new(name: &'static str, rule: &'static str, header: impl Into<Vec<u8>>) -> Self {
        let rule = (!rule.is_empty()).then_some(rule);
        let (header, data) = (header.into(), Vec::new());
        Self { name, rule, says: None, header, spaces: 0, data, cut: 0 }
    }

    fn says(self, says: u64) -> Self {
        Self { says: Some(says), ..self }
    }

    fn spaces(self, spaces: usize) -> Self {
        Self { spaces, ..self }
    }

    /// With so many bytes of data, none of them zero.
    fn data(self, length: u8) -> Self {
        Self { data: (1..=length).collect(), ..self }
    }

    fn cut(self, cut: usize) -> Self {
        Self { cut, ..self }
    }

    /// Writes the file.
    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        let header = self.header.len() + self.spaces;
        let says = self.says.map_or_else(|| u64::try_from(header), Ok)?;
        let mut file = says.to_le_bytes().to_vec();
        file.extend(&self.header);
        file.resize(8 + header, b' ');
        file.extend(&self.data);
        let kept = file.len().checked_sub(self.cut).context("nothing is left")?;
        std::fs::File::create(path)?.write_all(&file[..kept])?;
        Ok(())
    }
}

/// The header of one tensor `x`.
fn one(dtype: &str, shape: &str, offsets: &str) -> String {
    format!(r#"{{"x":{{"dtype":{dtype},"shape":{shape},"data_offsets":{offsets}}}}}"#)
}

/// The header of two tensors of bytes, of 8 each.
fn two(first: &str, second: &str) -> String {
    let entry = |name, offsets| {
        format!(r#""{name}":{{"dtype":"U8","shape":[8],"data_offsets":{offsets}}}"#)
    };
    format!("{{{},{}}}", entry("x", first), entry("y", second))
}

/// The header of one tensor, with an unknown field, of arrays in arrays.
fn unknown(levels: usize) -> String {
    let nested = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    one(r#""U8""#, "[8]", "[0,8]").replace(r#""U8""#, &format!(r#""U8","more":{nested}"#))
}

/// All of them.
pub(crate) fn all() -> Vec<Case> {
    [valid::cases(), header::cases(), tensors::cases()].concat()
}

/// Writes them all into a folder, for other programs.
pub(crate) fn write_all(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    for case in all() {
        let rule = case.rule.unwrap_or("valid");
        let name = case.name.replace([' ', '/'], "-");
        case.write(&folder.join(format!("{rule}--{name}.safetensors")))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::all;

    #[test]
    fn cases_have_names_of_their_own_and_rules_that_there_are() {
        let mut names = BTreeSet::new();
        for case in all() {
            assert!(names.insert(case.name), "{} is there twice", case.name);
            let rule = case.rule.map(|rule| zten::rules::find(rule).is_some());
            assert_ne!(rule, Some(false), "{}: there is no {:?}", case.name, case.rule);
        }
    }
}
