//! Computes statistics and digests of all content of a file, as the command does.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::num::NonZero;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use pyo3::prelude::*;
use zten::json::{to_line, to_writer};
use zten::shards::Files;
use zten::verify::{Subject, Threads, Verifier};
use zten::{Error, Tensor};
use zten_report::check::stored;
use zten_report::digests;
use zten_report::measure::{self, Measured};
use zten_report::sums::{self, Of, Sum, is_unknown};
use zten_report::totals::FileTotals;

use crate::interrupt::Cancel;
use crate::source::Open;

/// A component in a list of digests: its role, its type, the number of its decoded bytes (`None` if it is unknown), and their
/// SHA-256 in hexadecimal digits (`None` if zten cannot read the component).
pub(crate) type Digested = (String, String, Option<u64>, Option<String>);

/// The digests of a file: the text of the list, the identity of the tensors in hexadecimal digits (`None` if a component cannot be
/// read), and the name of each object with its components.
#[derive(IntoPyObject)]
pub(crate) struct Hashed(String, Option<String>, Vec<(String, Vec<Digested>)>);

/// The number of stored bytes of a file from which its tensors are read on several threads. Reading a smaller file takes no
/// longer than starting the threads.
const LARGE: u64 = 4 << 20;

/// Starts threads for each list of objects, and ends them when all objects of the list have been read. The field is the number of
/// threads, including the thread of the caller.
pub(crate) struct Scoped(usize);

/// Returns threads that read several tensors of `open` at once. Returns `None` if one thread reads as fast: the file has less than
/// [`LARGE`] stored bytes, is not a file on disk or bytes in memory (a Python object, a remote file and a hashed blob are read
/// one read after another), or the machine has one processor.
pub(crate) fn threads_for(open: &Open) -> Option<Scoped> {
    let is_large = stored(open.manifest()) >= LARGE;
    let count = thread::available_parallelism().map_or(1, NonZero::get);
    (is_large && open.is_local() && count > 1).then_some(Scoped(count))
}

impl Threads for Scoped {
    fn run(&self, count: u32, work: &(dyn Fn(u32) + Sync)) {
        let next = AtomicU64::new(0);
        let work = || {
            while let Ok(number) = u32::try_from(next.fetch_add(1, Ordering::Relaxed)) {
                if number >= count {
                    break;
                }
                work(number);
            }
        };
        thread::scope(|scope| {
            for _ in 1..self.0 {
                // If the system refuses another thread, the threads that are running take all items, so the failure is ignored.
                let _ = thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
    }
}

/// Opens the shards of the objects `ordinals` of the file `open`, and calls `work` for each of these objects, on several threads
/// if that helps. Returns each object with the result of `work`, in the order of the file. For an object that zten does not know
/// or does not read, the result is that of `unknown`.
///
/// # Errors
/// The errors of opening the shards; otherwise the error of `work` for the first object, in the order of the file, that fails.
pub(crate) fn each<'a, T: Send + Sync>(
    open: &'a Open,
    ordinals: &[u32],
    cancel: &Cancel,
    (work, unknown): (
        impl Fn(&mut Verifier, &Tensor<'_>) -> Result<T, Error> + Sync,
        impl Fn(&Tensor<'_>) -> T,
    ),
) -> Result<Vec<(Tensor<'a>, T)>, Error> {
    let mut tensors = Vec::new();
    for ordinal in ordinals {
        tensors.push(open.tensor(*ordinal)?);
    }
    let components: Vec<_> = tensors.iter().flat_map(Tensor::components).collect();
    let shards = open.shards_for(components.iter().copied(), cancel)?;
    open.plan_components(components)?;
    let root = open.root(cancel);
    let files = Files { root: &root, shards: &shards };
    let subject = Subject::with_shards(open.manifest(), &files);
    let selected: HashSet<u32> = ordinals.iter().copied().collect();
    let one = |verifier: &mut Verifier, tensor: &Tensor<'_>| {
        selected.contains(&tensor.ordinal()).then(|| work(verifier, tensor)).transpose()
    };
    let threads = threads_for(open);
    let threads: Option<&dyn Threads> = match &threads {
        Some(threads) => Some(threads),
        None => None,
    };
    let results = subject.results(threads, one, |error| !is_unknown(error))?;
    let mut found = Vec::new();
    for (result, tensor) in results.into_iter().zip(open.manifest().tensors()) {
        match result {
            Ok(None) => {}
            Ok(Some(one)) => found.push((tensor, one)),
            Err(error) if is_unknown(&error) => found.push((tensor, unknown(&tensor))),
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// Returns the JSON document of `zten stat --json` about the objects `ordinals`, which are read and verified.
pub(crate) fn statistics(open: &Open, ordinals: &[u32], cancel: &Cancel) -> Result<String, Error> {
    let unknown = |_: &Tensor<'_>| Measured::Skipped("its type is unknown");
    let found = each(open, ordinals, cancel, (measure::object_statistics, unknown))?;
    let mut out = Vec::new();
    to_line(&mut out, &measure::document("", &found))?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}

/// Reads and verifies the objects `ordinals` of the file, which are all objects, and returns the list of digests that `zten hash`
/// prints: as text, as the identity of the tensors, and as values.
pub(crate) fn hashed(open: &Open, ordinals: &[u32], cancel: &Cancel) -> Result<Hashed, Error> {
    let work =
        |verifier: &mut Verifier, tensor: &Tensor<'_>| sums::sum(verifier, tensor, Of::Bytes);
    let mut found: Vec<(Tensor<'_>, Vec<Sum>)> =
        each(open, ordinals, cancel, (work, sums::unsummed))?;
    found.sort_by_key(|(tensor, _)| tensor.name());
    let listed = found.iter().flat_map(|(tensor, sums)| sums::entries(tensor, sums));
    let identity = sums::identity(listed).map(|sum| digests::hex(&sum));
    let mut hashed = Hashed(format!("{}\n", digests::HEADER), identity, Vec::new());
    for (tensor, sums) in &found {
        let mut components = Vec::new();
        for entry in sums::entries(tensor, sums) {
            // Writing to a string does not fail, so the result is ignored.
            let _ = writeln!(hashed.0, "{entry}");
            let (role, kind) = (entry.role.into_owned(), entry.kind.into_owned());
            components.push((role, kind, entry.bytes, entry.sha256.map(|sum| digests::hex(&sum))));
        }
        hashed.2.push((tensor.name().to_owned(), components));
    }
    Ok(hashed)
}

/// Returns the totals of the file, such as the numbers of tensors and bytes: as the JSON document that `zten ls --json` has for
/// them, and as phrases to show to a user.
pub(crate) fn totals(open: &Open) -> Result<(String, Vec<String>), Error> {
    let totals = FileTotals::of(open.manifest().tensors());
    let mut out = Vec::new();
    to_writer(&mut out, &totals)?;
    Ok((String::from_utf8_lossy(&out).into_owned(), totals.phrases()))
}
