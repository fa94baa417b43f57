//! Writes the corpus, and removes generated files that no case asks for any more.

use std::path::Path;
use std::{fs, io};

fn main() -> io::Result<()> {
    let corpus = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let files = zten_corpus::files();
    for folder in ["accept", "reject", "v2/accept", "v2/reject", "v2/shards"] {
        fs::create_dir_all(corpus.join(folder))?;
        for file in fs::read_dir(corpus.join(folder))? {
            let file = file?;
            let name = file.file_name();
            let path = format!("{folder}/{}", name.to_string_lossy());
            // Only files are removed: the subfolders hold files that were not made by the generator.
            let stale = Path::new(&name).extension().is_some_and(|extension| extension == "zt")
                && file.file_type()?.is_file()
                && files.iter().all(|output| output.path != path);
            if stale {
                fs::remove_file(file.path())?;
            }
        }
    }
    for output in files.iter().filter(|output| output.path.starts_with("other/")) {
        if let Some(folder) = corpus.join(&output.path).parent() {
            fs::create_dir_all(folder)?;
        }
    }
    for output in &files {
        fs::write(corpus.join(&output.path), &output.bytes)?;
    }
    fs::write(corpus.join("index.json"), zten_corpus::index::index(corpus)?)?;
    let of = |folder: &str| {
        files
            .iter()
            .filter(|output| output.path.starts_with(folder))
            .filter(|output| !output.path.ends_with("tsv"))
            .count()
    };
    println!("{} files to accept, {} to reject", of("accept/"), of("reject/"));
    Ok(())
}
