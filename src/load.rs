//! Reading many components at once, on several threads. Needs the feature `std`.
//!
//! In a debug build the digests are not optimised, and loading a gigabyte takes a minute or more.
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

use crate::codec::{Idle, Locate, ReadAt, ReadError};
use crate::error::{Error, OutOfMemory};
use crate::format::Encoding;
use crate::layout::Decoded;
use crate::limits::Limits;
use crate::manifest::Component;
use crate::num::u64_from_usize;
use crate::verify::{beyond_total, required};

/// Reads whole components of one file into memory on several threads: decoded, little-endian, and
/// verified, within the limits on a whole file.
///
/// A thread that finds no component left to begin decodes frames of one that others have begun, where it has many of at
/// least 16 KiB and at most 64 MiB that decode to at most 64 times as much: each with a window of its own, and the stored
/// bytes of its frame.
///
/// What comes back has the digest that the manifest gives, or the manifest gives none. That the
/// indices of sparse objects are in range is shown by [`Verifier`](crate::verify::Verifier), not here.
///
/// ```
/// use std::num::NonZeroUsize;
/// use zten::load::Loader;
/// use zten::source::FileArchive;
///
/// let path = "corpus/accept/1.2.3/dense_all.zt";
/// let archive = FileArchive::open(path.as_ref(), &zten::Options::default())?;
/// let loader = Loader::new(archive.file_len(), &zten::Limits::default())
///     .threads(NonZeroUsize::new(2).unwrap());
/// let components = archive.objects().flat_map(|object| object.components());
/// let tensors = loader.decode(components, &archive)?;
/// assert_eq!(tensors.len(), 13);
/// # Ok::<(), zten::ReadError<std::io::Error>>(())
/// ```
#[derive(Debug)]
pub struct Loader {
    limits: Limits,
    threads: NonZeroUsize,
    /// Bytes that compressed components may still decode to.
    left: AtomicU64,
    total: u64,
}

/// A component, and the memory that its content goes to.
#[derive(Debug)]
pub struct Target<'a, 'b> {
    /// What is read.
    pub component: Component<'a>,
    /// Exactly as long as the decoded content.
    pub buffer: &'b mut [u8],
}

impl Loader {
    /// A loader for a file of `file_len` bytes, with as many threads as there are processors.
    pub fn new(file_len: u64, limits: &Limits) -> Self {
        let total = limits.decoded_total(file_len);
        let threads = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        Self { limits: *limits, threads, left: AtomicU64::new(total), total }
    }

    /// This loader with so many threads, the caller's among them.
    #[must_use]
    pub fn threads(mut self, threads: NonZeroUsize) -> Self {
        self.threads = threads;
        self
    }

    /// Reads components into memory of their own, which is aligned to 64 bytes. They are returned
    /// in the order in which they are given. `files` is a reference to the file, or [`Files`], of which some
    /// components are in shards.
    ///
    /// # Errors
    /// The same as [`Component::decode`] and [`Locate::locate`]; `limit-decoded-total`; `unsupported-digest` where a digest
    /// cannot be verified. It is the error of the first component that has one, those that are not supported last.
    ///
    /// [`Files`]: crate::shards::Files
    pub fn decode<'a, L: Locate<Source: ReadAt<Error: Send> + Sync> + Sync>(
        &self,
        components: impl Iterator<Item = Component<'a>> + Send,
        files: L,
    ) -> Result<Vec<Decoded>, ReadError<L::Error>> {
        let decode = |component: Component<'_>, idle: &Idle| {
            let (component, source) = files.locate(&component)?;
            self.spend(&component, component.decoded_length().unwrap_or(0))?;
            let decoded = component.decode_on(&source, &self.limits, idle)?;
            if component.decoded_length().is_none() {
                self.spend(&component, u64_from_usize(decoded.len()))?;
            }
            required(&component, Some(decoded.verified()))?;
            Ok(decoded)
        };
        self.each(components, decode).map_err(L::flatten)
    }

    /// Reads components into memory of the caller's, from `files` as [`decode`](Self::decode) does.
    ///
    /// # Errors
    /// The same as [`Component::read_into`] and [`Locate::locate`]; `limit-decoded-total`; `unsupported-digest` where a digest
    /// cannot be verified. It is the error of the first component that has one, those that are not supported last.
    pub fn read_into<'a, 'b, L: Locate<Source: ReadAt<Error: Send> + Sync> + Sync>(
        &self,
        targets: impl Iterator<Item = Target<'a, 'b>> + Send,
        files: L,
    ) -> Result<(), ReadError<L::Error>> {
        let read = |Target { component, buffer }: Target<'_, '_>, idle: &Idle| {
            let (component, source) = files.locate(&component)?;
            self.spend(&component, u64_from_usize(buffer.len()))?;
            let view = component.read_into_on(&source, &self.limits, buffer, idle)?;
            required(&component, view.verified()).map_err(ReadError::Refused)
        };
        self.each(targets, read).map(drop).map_err(L::flatten)
    }

    /// Charges what a compressed component decodes to.
    fn spend(&self, component: &Component<'_>, bytes: u64) -> Result<(), Error> {
        if component.encoding() == Encoding::Raw {
            return Ok(());
        }
        let less = |left: u64| left.checked_sub(bytes);
        let spent = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        spent.map(drop).map_err(|_| beyond_total(component, self.total))
    }

    /// Does `work` on each item. Items are handed out in order, so that of all that fail the first
    /// is among those that have been tried. One that is not supported does not keep the others from being tried.
    /// When there are none left, a thread is idle.
    fn each<T, O: Send, E: Send>(
        &self,
        items: impl Iterator<Item = T> + Send,
        work: impl Fn(T, &Idle) -> Result<O, ReadError<E>> + Sync,
    ) -> Result<Vec<O>, ReadError<E>> {
        let begun = Progress { items: Some(items.enumerate()), done: Vec::new(), failed: None };
        let (progress, idle) = (Mutex::new(begun), Idle::default());
        let worker = || {
            while let Some((at, item)) = next(&progress) {
                let outcome = work(item, &idle);
                let Ok(mut progress) = progress.lock() else { break };
                progress.note(at, outcome);
            }
            idle.fetch_add(1, Ordering::Relaxed);
        };
        thread::scope(|scope| {
            let more = self.threads.get().saturating_sub(1);
            // Where no thread can be had, those that there are do the work.
            let spawn = |_| thread::Builder::new().spawn_scoped(scope, worker).ok();
            let others: Vec<_> = (0..more).map_while(spawn).collect();
            worker();
            for other in others {
                other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            }
        });
        let Progress { mut done, failed, .. } =
            progress.into_inner().map_err(|_| Error::internal())?;
        if let Some((_, _, error)) = failed {
            return Err(error);
        }
        done.sort_unstable_by_key(|(at, _)| *at);
        Ok(done.into_iter().map(|(_, output)| output).collect())
    }
}

/// The items that are left, and what has come of the others.
struct Progress<I, O, E> {
    /// None when one has failed, and nothing further on says more about the file.
    items: Option<Enumerate<I>>,
    /// Outputs with the positions of their items.
    done: Vec<(usize, O)>,
    /// True if items further on can say more about the file; the position of the item that failed; its error.
    failed: Option<(bool, usize, ReadError<E>)>,
}

impl<I, O, E> Progress<I, O, E> {
    /// Keeps the output of the item at that position, or the failure that says more about the file: a final one, or
    /// else the first.
    fn note(&mut self, at: usize, outcome: Result<O, ReadError<E>>) {
        let kept = outcome.and_then(|output| {
            self.done.try_reserve(1).map_err(|_| Error::from(OutOfMemory))?;
            self.done.push((at, output));
            Ok(())
        });
        let Err(error) = kept else { return };
        let goes_on = matches!(&error, ReadError::Refused(error) if error.is_unsupported());
        if !goes_on {
            self.items = None;
        }
        if self.failed.as_ref().is_none_or(|(other, first, _)| (goes_on, at) < (*other, *first)) {
            self.failed = Some((goes_on, at, error));
        }
    }
}

/// The next item; none when they are over, when one has failed, or when the iterator has panicked.
fn next<I: Iterator, O, E>(progress: &Mutex<Progress<I, O, E>>) -> Option<(usize, I::Item)> {
    progress.lock().ok()?.items.as_mut()?.next()
}
