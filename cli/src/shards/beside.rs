//! Opening all files beside one that it may name. None of them is read, and neither is the one: it says which of them it
//! means when nothing can be opened any more.

use std::fs;
use std::io;

use zten_formats::BesideNames;
use zten_shards::{open_in, parent};

use crate::companion::Companion;
use crate::file::Opened;

/// Opens all regular files beside a file that it may name, as its own name says, but for links; an error where they are
/// more than `most`. Names that are not Unicode are of no file that another can name.
pub(crate) fn open_beside(file: &mut Opened, most: u32) -> io::Result<()> {
    let Some(beside) = BesideNames::of(&file.path).filter(|_| file.file.is_local()) else {
        return Ok(());
    };
    zten_sandbox::allow_many_files();
    let folder = parent(&file.path).to_owned();
    let limit = usize::try_from(most).unwrap_or(usize::MAX);
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder)? {
        let Ok(name) = entry?.file_name().into_string() else { continue };
        if beside.includes(&name) {
            names.push(name);
        }
        if names.len() > limit {
            return Err(io::Error::other(format!(
                "there are more than {most} files beside it that it may name, which are all opened before it is \
                 read; --limit shards=N allows more"
            )));
        }
    }
    for name in names {
        file.beside.extend(open_in(&folder, &name)?.map(Companion::from));
    }
    Ok(())
}
