//! Opening a file by its path, whatever its format is.

use std::path::Path;

use crate::archive::Archive;
use crate::error::Error;
use crate::limits::OpenOptions;

/// Opens the file at `path` with the default options: parses and validates its header, but reads no data. The file may be of
/// zTensor, safetensors, GGUF, NumPy or PyTorch, or an index of several safetensors files. Each format has a feature; without the
/// feature `detect`, the file must be a zTensor file. [`OpenOptions::open`] takes limits and tolerances.
///
/// ```
/// # #[cfg(feature = "safetensors")] {
/// for path in ["corpus/accept/1.2.3/dense_all.zt", "corpus/other/safetensors/accept/types.safetensors"] {
///     let archive = zten::open(path)?;
///     archive.verify()?;
///     for tensor in &archive {
///         println!("{} {} {:?}", tensor.name(), tensor.dtype(), tensor.shape());
///     }
/// }
/// # }
/// # Ok::<(), zten::Error>(())
/// ```
///
/// If `path` is a folder, the only index in the folder is opened, or else the only model (feature `detect`).
///
/// The shards of a zTensor file (2), and the files that an index (an `*.index.json` file) or the first file of a split GGUF model
/// names, are opened in the same folder, shards also in its folder `blobs`. Links to such files are not followed, except the links
/// in the cache of a hub, which lead to the `blobs` of the same repository.
///
/// # Errors
/// [`ErrorKind::Read`](crate::ErrorKind::Read) if the file cannot be read; any rule of its format, except rules that need data;
/// a rule that names the format, if zten does not read files of this format.
pub fn open(path: impl AsRef<Path>) -> Result<Archive, Error> {
    OpenOptions::default().open(path)
}

impl OpenOptions {
    /// Opens the file at `path`, as [`open`] does.
    ///
    /// # Errors
    /// The errors of [`open`].
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Archive, Error> {
        open_path(path.as_ref(), self)
    }
}

#[cfg(feature = "detect")]
use crate::formats::open_path;

#[cfg(not(feature = "detect"))]
fn open_path(path: &Path, options: &OpenOptions) -> Result<Archive, Error> {
    let (file, length) = crate::source::open_regular(path)?;
    options.open_source(file, length)?.find_shards_beside(path)
}
