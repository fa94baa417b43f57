//! Opening all files beside one whose names end in some way. None of them is read, and neither is the
//! one: it says which of them it means when nothing can be opened any more.

use std::fs;
use std::io;

use zten_shards::{open_in, parent};

use crate::companion::Companion;
use crate::file::Opened;

/// Opens all regular files beside a file whose names end so, but for links; an error where they are
/// more than `most`. Names that are not Unicode are of no file that another can name.
pub(crate) fn open_beside(file: &mut Opened, suffix: &str, most: u64) -> io::Result<()> {
    let folder = parent(&file.path).to_owned();
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder)? {
        let Ok(name) = entry?.file_name().into_string() else { continue };
        if name.ends_with(suffix) {
            names.push(name);
        }
        if names.len() > most {
            return Err(io::Error::other(format!(
                "there are more than {most} files beside it that end in {suffix}, which are all opened \
                 before it is read; --limit shards=N allows more"
            )));
        }
    }
    for name in names {
        file.beside.extend(open_in(&folder, &name)?.map(Companion::from));
    }
    Ok(())
}
