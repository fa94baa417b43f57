//! Reading of files with credentials: the profile files of AWS, which also have settings, and files that hold a token.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use zten::escape;
use zten::num::u64_from_usize;

/// The largest length in bytes of a profile or token file. A longer file is an error.
const LONGEST: u64 = 1 << 20;

/// The settings of one profile in the configuration files of AWS: the value of each setting by its name in lower case. No value is
/// empty.
pub(crate) type Profile = HashMap<String, String>;

/// Reads the settings of the profile that the environment variable `AWS_PROFILE` names, or of `default`, from the files `config`
/// and `credentials` of AWS. A setting in `credentials` takes precedence over the same setting in `config`. `variable` returns the
/// value of an environment variable, or `None` if it is not set.
pub(crate) fn profile(variable: &impl Fn(&str) -> Option<String>) -> io::Result<Profile> {
    let name = variable("AWS_PROFILE").unwrap_or_else(|| "default".to_owned());
    let home = variable("HOME").or_else(|| variable("USERPROFILE")).map(PathBuf::from);
    let at = |setting: &str, file: &str| {
        let usual = || Some(home.as_ref()?.join(".aws").join(file));
        variable(setting).map(PathBuf::from).or_else(usual)
    };
    let mut found = Profile::new();
    for (path, is_config) in [
        (at("AWS_CONFIG_FILE", "config"), true),
        (at("AWS_SHARED_CREDENTIALS_FILE", "credentials"), false),
    ] {
        let Some(path) = path else { continue };
        let Some(text) = read(&path)? else { continue };
        found.extend(section(&text, &name, is_config));
    }
    Ok(found)
}

/// Reads the text of the file at `path`. Returns `None` if the file does not exist.
///
/// # Errors
/// The file cannot be read, is not UTF-8, or is longer than 1 MiB, which no file with a token or credentials is.
pub(crate) fn read(path: &Path) -> io::Result<Option<String>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut text = String::new();
    file.take(LONGEST.saturating_add(1)).read_to_string(&mut text)?;
    if u64_from_usize(text.len()) > LONGEST {
        let sentence = format!("{} is longer than {LONGEST} bytes", escape::path(path));
        return Err(io::Error::new(io::ErrorKind::InvalidData, sentence));
    }
    Ok(Some(text))
}

/// Returns the settings of the profile `name` in `text`, the content of a profile file, without those that have no value. If the
/// file is `config` (`is_config`), the section of a profile other than `default` has the heading `[profile NAME]` in place of
/// `[NAME]`.
fn section(text: &str, name: &str, is_config: bool) -> Profile {
    let wanted =
        if is_config && name != "default" { format!("profile {name}") } else { name.to_owned() };
    let mut found = Profile::new();
    let mut is_in = false;
    for line in text.lines() {
        // Comments are skipped, and so are indented lines, which are settings nested in another setting.
        if line.starts_with([' ', '\t', '#', ';']) {
            continue;
        }
        if let Some(header) = line.strip_prefix('[') {
            let header = header.split(']').next().unwrap_or_default();
            is_in = header.split_whitespace().eq(wanted.split_whitespace());
        } else if let Some((key, value)) = line.split_once('=')
            && is_in
        {
            let value = value.trim();
            // A setting without a value counts as missing, as an empty environment variable does. So an empty value in one file
            // does not replace the value in the other file, and no request is signed with an empty key.
            if !value.is_empty() {
                found.insert(key.trim().to_ascii_lowercase(), value.to_owned());
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_found_by_profile() {
        let text = "a = 0\n[default]\na = 1\n s3 =\n  a = 9\n# a = 8\n[profile x]\na=2\nB = c=d\n[y]\na=3\n";
        let of = |name, is_config| section(text, name, is_config).remove("a");
        assert_eq!(of("default", true).as_deref(), Some("1"));
        assert_eq!(of("x", true).as_deref(), Some("2"));
        assert_eq!(of("x", false), None);
        assert_eq!(of("y", false).as_deref(), Some("3"));
        assert_eq!(of("y", true), None);
        assert_eq!(section(text, "x", true).remove("b").as_deref(), Some("c=d"));
        assert!(section("[default]\na=\nb = \t\n", "default", true).is_empty());
    }

    #[test]
    fn the_credentials_file_takes_precedence() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(".aws").join(name);
        std::fs::create_dir(folder.path().join(".aws")).unwrap();
        std::fs::write(at("config"), "[profile p]\nregion=r\naws_access_key_id=old\n").unwrap();
        std::fs::write(at("credentials"), "[p]\naws_access_key_id=new\n").unwrap();
        let home = folder.path().to_str().unwrap().to_owned();
        let variable = |name: &str| match name {
            "HOME" => Some(home.clone()),
            "AWS_PROFILE" => Some("p".to_owned()),
            _ => None,
        };
        let check = || {
            let found = profile(&variable).unwrap();
            (found["region"].clone(), found["aws_access_key_id"].clone())
        };
        assert_eq!(check(), ("r".to_owned(), "new".to_owned()));
        // An empty value in `credentials` does not replace the value in `config`.
        std::fs::write(at("credentials"), "[p]\naws_access_key_id=\nregion =\n").unwrap();
        assert_eq!(check(), ("r".to_owned(), "old".to_owned()));
        assert!(profile(&|_| None).unwrap().is_empty());
    }
}
