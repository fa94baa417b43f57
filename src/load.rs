//! Reading many components at once, on several threads. Needs the feature `std`.
//!
//! In a debug build the digests are not optimized, and loading a gigabyte takes a minute or more.
//! In the `Cargo.toml` of the program, this makes it as fast as in a release build:
//!
//! ```toml
//! [profile.dev.package."*"]
//! opt-level = 3
//! ```

use std::iter::Enumerate;
use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::vec::Vec;

use crate::archive::Archive;
use crate::codec::ThreadBudget;
use crate::element::Element;
use crate::error::{BareError, Error, OutOfMemory};
use crate::layout::{Decoded, View};
use crate::manifest::{Component, Manifest, Tensor};
use crate::num::u64_from_usize;
use crate::read_at::{ReadAt, Source as _};
use crate::verify::{decoded_total_error, required};

/// A loader that reads whole components of one file into memory on several threads: decoded, little-endian and verified,
/// within the limits on a whole file.
///
/// A thread that finds no component left helps another thread to decode the zstd frames of its component. This takes place if the
/// component has several frames, whose stored size is at least 16 KiB on average and at most 64 MiB each, and if each frame
/// decodes to at most 64 times its stored size. Each thread then takes the memory of a zstd window and of the stored bytes of one
/// frame.
///
/// Content that has a digest in the manifest has been compared with it. Whether the indices of sparse objects are in range
/// is not checked here, but by [`Verifier`](crate::verify::Verifier).
///
/// ```
/// let archive = zten::open("corpus/accept/1.2.3/dense_all.zt")?;
/// let loader = zten::Loader::new(archive.manifest()).threads(2);
/// let components = archive.tensors().flat_map(|tensor| tensor.components());
/// let read = loader.read(components)?;
/// assert_eq!(read.len(), 13);
/// # Ok::<(), zten::Error>(())
/// ```
#[derive(Debug)]
pub struct Loader {
    /// The largest number of threads. If `None`, it is the number of processors, which is asked for only if there is work
    /// for two threads: asking takes longer than reading a small tensor.
    threads: Option<usize>,
    /// The number of bytes that compressed components may still decode to.
    left: AtomicU64,
    /// The limit from which `left` started, which the error message shows.
    total: u64,
}

/// A tensor whose components have been read into memory: see [`Archive::load`].
#[derive(Debug)]
pub struct LoadedTensor<'a> {
    tensor: Tensor<'a>,
    /// The decoded content of each component of `tensor`, in the order of the file.
    components: Vec<Decoded>,
}

impl<'a> LoadedTensor<'a> {
    /// Returns the tensor in the archive: its name, shape, dtype, layout and attributes.
    pub fn tensor(&self) -> Tensor<'a> {
        self.tensor
    }

    /// Returns the components with their content, in the order of the file.
    pub fn components(&self) -> impl Iterator<Item = (Component<'a>, &Decoded)> {
        self.tensor.components().zip(&self.components)
    }

    /// Returns the content of the component whose role is `role`, such as `values` of a sparse tensor; `None` if the tensor has
    /// no such component.
    pub fn component(&self, role: &str) -> Option<View<'_>> {
        let mut components = self.components();
        components
            .find(|(component, _)| component.role() == role)
            .map(|(_, content)| content.view())
    }

    /// Borrows the loaded elements of a dense tensor, in row-major order. If `T` is only the storage type of the elements, the
    /// slice holds storage elements: two floats for each complex number, or one byte for two elements of `f4_e2m1`.
    ///
    /// # Errors
    /// The errors of [`Tensor::dense`]; [`Misuse::Type`] if the elements cannot be read as `T`; [`Misuse::BoolBytes`] if a bool
    /// of 0.1 is neither 0 nor 1; [`Misuse::ByteOrder`] on a big-endian machine, unless an element is a single byte, because
    /// loaded elements are little-endian. Loaded elements are always aligned.
    ///
    /// [`Misuse::Type`]: crate::error::Misuse::Type
    /// [`Misuse::BoolBytes`]: crate::error::Misuse::BoolBytes
    /// [`Misuse::ByteOrder`]: crate::error::Misuse::ByteOrder
    pub fn as_slice<T: Element>(&self) -> Result<&[T], Error> {
        // A dense tensor of 1.x may have other components, which may come before `data`.
        let data = self.component(self.tensor.dense()?.role()).ok_or(BareError::internal())?;
        data.as_slice().map_err(|error| self.tensor.named(error))
    }
}

impl<S: ReadAt> Archive<S> {
    /// Reads all tensors into memory on several threads, decoded and verified, in the order of the file. [`Loader`] reads some
    /// of them, or into memory of the caller.
    ///
    /// ```
    /// for loaded in zten::open("corpus/accept/1.2.3/dense_all.zt")?.load()? {
    ///     if loaded.tensor().dtype() == zten::DType::F32 {
    ///         let elements: &[f32] = loaded.as_slice()?;
    /// #       assert_eq!(elements.len(), 6);
    ///     }
    /// }
    /// # Ok::<(), zten::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Loader::read`].
    pub fn load(&self) -> Result<Vec<LoadedTensor<'_>>, Error> {
        let all =
            Loader::new(self.manifest()).with_shard_bytes(self.manifest(), self.shard_bytes());
        let read = all.read(self.tensors().flat_map(|tensor| tensor.components()))?;
        let (mut contents, mut loaded) = (read.into_iter(), Vec::new());
        for tensor in self.tensors() {
            let count = tensor.components().len();
            let mut components = Vec::new();
            components.try_reserve_exact(count).map_err(|_| OutOfMemory)?;
            components.extend(contents.by_ref().take(count));
            loaded.try_reserve(1).map_err(|_| OutOfMemory)?;
            loaded.push(LoadedTensor { tensor, components });
        }
        Ok(loaded)
    }
}

/// The number of bytes to read for which another thread is started. Reading fewer bytes takes less time than starting a
/// thread.
const WORTHWHILE: u64 = 1 << 20;

impl Loader {
    /// Creates a loader for the file with `manifest`. It has the limits that the file was opened with, and uses as many
    /// threads as there are processors.
    pub fn new<B: AsRef<[u8]>>(manifest: &Manifest<B>) -> Self {
        let parts = manifest.parts();
        let total = parts.options().limit().decoded_total(parts.file_len());
        Self { threads: None, left: AtomicU64::new(total), total }
    }

    /// Adds the `bytes` of all shards to the size of the file, on which the limit on decoded bytes depends, as
    /// [`Verifier::with_shard_bytes`](crate::verify::Verifier::with_shard_bytes) does.
    #[must_use]
    pub fn with_shard_bytes<B: AsRef<[u8]>>(self, manifest: &Manifest<B>, bytes: u64) -> Self {
        let parts = manifest.parts();
        let bytes = parts.file_len().saturating_add(bytes);
        let total = parts.options().limit().decoded_total(bytes);
        Self { left: AtomicU64::new(total), total, ..self }
    }

    /// Returns this loader with at most `threads` threads, including the calling thread. A thread is started only if it has
    /// 1 MiB or more to read.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads.max(1));
        self
    }

    /// Reads `components` into new memory, which is aligned to 64 bytes. Returns the contents in the order of `components`.
    ///
    /// # Errors
    /// The errors of [`Component::read`]; `limit-decoded-total`; `unsupported-digest` if a digest cannot be verified. If
    /// several components fail, the error is that of the first, except that unsupported features come after all other
    /// errors.
    pub fn read<'a>(
        &self,
        components: impl IntoIterator<Item = Component<'a>>,
    ) -> Result<Vec<Decoded>, Error> {
        let mut all = Vec::new();
        for component in components {
            all.try_reserve(1).map_err(|_| OutOfMemory)?;
            all.push(component);
        }
        let threads = self.worthwhile(all.iter().copied());
        run_all(all.into_iter(), threads, |component, thread_budget| {
            self.spend(&component, component.decoded_length().unwrap_or(0))?;
            let decoded = component.read_on(thread_budget)?;
            if component.decoded_length().is_none() {
                self.spend(&component, u64_from_usize(decoded.len()))?;
            }
            required(&component, Some(decoded.verified()))?;
            Ok(decoded)
        })
    }

    /// Reads components into buffers of the caller. Each buffer must have the length of the decoded content.
    ///
    /// # Errors
    /// The errors of [`Component::read_into`]; `limit-decoded-total`; `unsupported-digest` if a digest cannot be verified.
    /// If several components fail, the error is that of the first, except that unsupported features come after all other
    /// errors.
    pub fn read_into<'a>(&self, targets: &mut [(Component<'a>, &mut [u8])]) -> Result<(), Error> {
        let threads = self.worthwhile(targets.iter().map(|(component, _)| *component));
        let read = |(component, buffer): &mut (Component<'a>, &mut [u8]),
                    thread_budget: &ThreadBudget| {
            self.spend(component, u64_from_usize(buffer.len()))?;
            let view = component.read_into_on(buffer, thread_budget)?;
            Ok(required(component, view.verified())?)
        };
        run_all(targets.iter_mut(), threads, read).map(drop)
    }

    /// Returns the number of threads for which `components` are enough work. Several threads may decode frames of one
    /// component.
    fn worthwhile<'a>(&self, components: impl Iterator<Item = Component<'a>>) -> usize {
        let own = |component: Component<'a>| {
            component.decoded_length().unwrap_or(0).max(component.extent().length())
        };
        let bytes = components.map(own).fold(0, u64::saturating_add);
        let useful = usize::try_from(bytes / WORTHWHILE).unwrap_or(usize::MAX);
        if useful < 2 {
            return 1;
        }
        let processors = || thread::available_parallelism().map_or(1, NonZeroUsize::get);
        useful.min(self.threads.unwrap_or_else(processors))
    }

    /// Charges the decoded `bytes` of `component`, if it is compressed, to the limit on the whole file.
    ///
    /// # Errors
    /// `limit-decoded-total`.
    fn spend(&self, component: &Component<'_>, bytes: u64) -> Result<(), Error> {
        if !component.encoding().is_compressed() {
            return Ok(());
        }
        let less = |left: u64| left.checked_sub(bytes);
        let spent = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        spent
            .map(drop)
            .map_err(|_| component.tensor().named(decoded_total_error(component, self.total)))
    }
}

/// Calls `work` with each of `items`, on `threads` threads, and returns the outputs in the order of the items. After an
/// error other than an unsupported feature no further item is begun. Items are handed out in order, so the first item that
/// fails is always among those that were tried, and the error does not depend on the threads. A thread that finds no item
/// left adds itself to the budget of idle threads that `work` gets.
fn run_all<T, O: Send>(
    items: impl Iterator<Item = T> + Send,
    threads: usize,
    work: impl Fn(T, &ThreadBudget) -> Result<O, Error> + Sync,
) -> Result<Vec<O>, Error> {
    let begun = Progress { items: Some(items.enumerate()), done: Vec::new(), failed: None };
    let (progress, thread_budget) = (Mutex::new(begun), ThreadBudget::default());
    let worker = || {
        while let Some((at, item)) = next(&progress) {
            let outcome = work(item, &thread_budget);
            let Ok(mut progress) = progress.lock() else { break };
            progress.note(at, outcome);
        }
        thread_budget.fetch_add(1, Ordering::Relaxed);
    };
    thread::scope(|scope| {
        let more = threads.saturating_sub(1);
        // If no thread can be started, the threads that run do all of the work.
        let spawn = |_| thread::Builder::new().spawn_scoped(scope, worker).ok();
        let others: Vec<_> = (0..more).map_while(spawn).collect();
        worker();
        for other in others {
            other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
    });
    let Progress { mut done, failed, .. } =
        progress.into_inner().map_err(|_| BareError::internal())?;
    if let Some((_, _, error)) = failed {
        return Err(error);
    }
    done.sort_unstable_by_key(|(at, _)| *at);
    Ok(done.into_iter().map(|(_, output)| output).collect())
}

/// The progress of work on several items: the items that no thread has taken yet, and the outcomes of the items that are done.
struct Progress<I, O> {
    /// The items that are left; `None` after an error that ends the work.
    items: Option<Enumerate<I>>,
    /// The outputs so far, each with the position of its item.
    done: Vec<(usize, O)>,
    /// The error to report: whether it is an unsupported feature, the position of its item, and the error.
    failed: Option<(bool, usize, Error)>,
}

impl<I, O> Progress<I, O> {
    /// Stores the outcome of the item at position `at`. Of several errors, the one of the first item is kept; an error about an
    /// unsupported feature is kept only if there is no other.
    fn note(&mut self, at: usize, outcome: Result<O, Error>) {
        let kept = outcome.and_then(|output| {
            self.done.try_reserve(1).map_err(|_| OutOfMemory)?;
            self.done.push((at, output));
            Ok(())
        });
        let Err(error) = kept else { return };
        let goes_on = error.is_unsupported();
        if !goes_on {
            self.items = None;
        }
        if self.failed.as_ref().is_none_or(|(other, first, _)| (goes_on, at) < (*other, *first)) {
            self.failed = Some((goes_on, at, error));
        }
    }
}

/// Takes the next item and its position. Returns `None` if no item is left, after an error that ends the work, or if
/// another thread has panicked.
fn next<I: Iterator, O>(progress: &Mutex<Progress<I, O>>) -> Option<(usize, I::Item)> {
    progress.lock().ok()?.items.as_mut()?.next()
}
