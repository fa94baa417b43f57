//! Compares the contents of two files, as the command `zten diff` does.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use zten::json::to_line;
use zten::shards::Files;
use zten::verify::{Threads as _, Verifier};
use zten::{Component, Error, Tensor};
use zten_report::check::stored;
use zten_report::diff::{
    Difference, ObjectDifference, Side, Summary, Tolerance, compare, document,
};
use zten_report::sums::{self, Of, Sum};

use crate::content::{each, threads_for};
use crate::error::CallFailure;
use crate::interrupt::{self, Cancel};
use crate::reader::Reader;
use crate::select::select;
use crate::source::{Open, OpenShards};

/// The differences of two files: the JSON document of `zten diff --json`, the totals as a line of text, and for each changed or
/// renamed tensor its new name and its changes as text.
#[derive(IntoPyObject)]
pub(crate) struct Compared(String, String, Vec<(String, String)>);

/// Reads and verifies the tensors `ordinals` of the old and of the new file, and compares them. The attributes of the two files are
/// compared too if `with_attributes` is true. With a `tolerance`, elements that differ by no more than this do not count as
/// changed.
///
/// # Errors
/// The index (0 or 1) of the file that cannot be read, and the error.
fn compare_selected(
    files: [&Open; 2],
    (ordinals, with_attributes): (&[Vec<u32>; 2], bool),
    tolerance: Option<Tolerance>,
    cancel: &Cancel,
) -> Result<Compared, (usize, Error)> {
    let [old, new] = files;
    let [old_ordinals, new_ordinals] = ordinals;
    let old_sums = content_sums(old, old_ordinals, cancel).map_err(|error| (0, error))?;
    let new_sums = content_sums(new, new_ordinals, cancel).map_err(|error| (1, error))?;
    let sides = [
        Side::new(old.manifest(), old_sums.iter().map(|(tensor, sums)| (*tensor, &**sums))),
        Side::new(new.manifest(), new_sums.iter().map(|(tensor, sums)| (*tensor, &**sums))),
    ];
    let mut found = compare(sides, with_attributes);
    measure(files, &mut found.objects, tolerance, cancel)?;
    if tolerance.is_some() {
        found.accept();
    }
    let mut text = Vec::new();
    // Writing to a vector does not fail, so the index of the file in this error does not matter.
    to_line(&mut text, &document(&found)).map_err(|error| (0, error.into()))?;
    let texts = found.objects.iter().filter_map(|object| {
        let is_in_both = matches!(object.difference, Difference::Changed | Difference::Renamed(_));
        let text = || object.changes.text(object.changes.elements.as_ref());
        is_in_both.then(|| (object.name.to_owned(), text()))
    });
    let texts = texts.collect();
    let text = String::from_utf8_lossy(&text).into_owned();
    Ok(Compared(text, Summary::of(&found).to_string(), texts))
}

/// Reads and verifies the tensors `ordinals`, and returns each with the length and SHA-256 of the content of each of its
/// components. The components of a tensor that zten does not read have no SHA-256.
fn content_sums<'a>(
    open: &'a Open,
    ordinals: &[u32],
    cancel: &Cancel,
) -> Result<Vec<(Tensor<'a>, Vec<Sum>)>, Error> {
    let work =
        |verifier: &mut Verifier, tensor: &Tensor<'_>| sums::sum(verifier, tensor, Of::Content);
    each(open, ordinals, cancel, (work, sums::unsummed))
}

/// Compares the elements of the changed tensors among `objects`, pair by pair, and stores the result in each object. Tensors
/// without elements that can be compared, such as tensors of different shapes, are skipped.
///
/// # Errors
/// For the first object whose elements cannot be read: the index (0 or 1) of its file in `files`, and the error.
fn measure(
    files: [&Open; 2],
    objects: &mut [ObjectDifference<'_>],
    tolerance: Option<Tolerance>,
    cancel: &Cancel,
) -> Result<(), (usize, Error)> {
    let objects = objects.iter_mut().filter(|object| object.has_elements(tolerance));
    let objects: Vec<_> = objects.map(Mutex::new).collect();
    let both = || objects.iter().filter_map(|object| locked(object).both);
    let [old, new] = files;
    let components: Vec<_> = both().flat_map(|[old, _]| old.components()).collect();
    let old_shards = bind(old, components, cancel).map_err(|error| (0, error))?;
    let components: Vec<_> = both().flat_map(|[_, new]| new.components()).collect();
    let new_shards = bind(new, components, cancel).map_err(|error| (1, error))?;
    let old_files = Files { root: &old.root(cancel), shards: &old_shards };
    let new_files = Files { root: &new.root(cancel), shards: &new_shards };
    let failures = Mutex::new(Vec::new());
    let one = |number: u32| {
        let object = usize::try_from(number).ok().and_then(|number| objects.get(number));
        let Some(object) = object else { return };
        if let Err(failure) = locked(object).measure([&old_files, &new_files], tolerance) {
            locked(&failures).push((number, failure));
        }
    };
    let count = u32::try_from(objects.len()).unwrap_or(u32::MAX);
    match threads_for(old).filter(|_| threads_for(new).is_some()) {
        Some(threads) => threads.run(count, &one),
        None => (0..count).for_each(one),
    }
    let failures = failures.into_inner().unwrap_or_else(PoisonError::into_inner);
    let first = failures.into_iter().min_by_key(|(number, _)| *number);
    first.map_or(Ok(()), |(_, failure)| Err(failure))
}

/// Opens the shards that hold `components`, components of the file `open`, and returns them. If the file is remote, the
/// function also begins to fetch the bytes of the components, in the order of `components`.
fn bind<'a>(
    open: &'a Open,
    components: Vec<Component<'_>>,
    cancel: &Cancel,
) -> Result<OpenShards<'a>, Error> {
    let shards = open.shards_for(components.iter().copied(), cancel)?;
    open.plan_components(components)?;
    Ok(shards)
}

/// Locks `mutex`, even if another thread panicked while it held the lock.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Compares the contents of the files `old` and `new`: all tensors and the attributes, or only the tensors that `patterns` select
/// by their names. `tolerance` has the relative and the absolute difference up to which elements count as equal.
///
/// # Errors
/// A `KeyError` if a pattern matches no tensor of either file; a `ValueError` if a tolerance is negative or not finite, or a file
/// is closed; the exception for a file that cannot be read.
#[pyfunction]
#[pyo3(signature = (old, new, patterns, tolerance))]
pub(crate) fn diff(
    py: Python<'_>,
    old: &Bound<'_, Reader>,
    new: &Bound<'_, Reader>,
    patterns: Option<Vec<String>>,
    tolerance: (Option<f64>, Option<f64>),
) -> PyResult<Compared> {
    for (name, number) in [("rtol", tolerance.0), ("atol", tolerance.1)] {
        if let Some(number) = number.filter(|number| !Tolerance::is_part(*number)) {
            return Err(PyValueError::new_err(format!(
                "{name} is {number}, expected a finite number that is not negative"
            )));
        }
    }
    let tolerance = Tolerance::new(tolerance.0, tolerance.1);
    let readers = [old.get(), new.get()];
    let (one, other) = (old.get().open()?, new.get().open()?);
    let files = [&*one, &*other];
    let all =
        |open: &Open| open.manifest().tensors().map(|tensor| tensor.ordinal()).collect::<Vec<_>>();
    let ordinals = match &patterns {
        Some(texts) => select(files, texts)?,
        None => files.map(all),
    };
    let selected = (&ordinals, patterns.is_none());
    let effort = files.map(|open| open.effort(stored(open.manifest())));
    let effort = effort.into_iter().fold(0, u64::saturating_add);
    let compared =
        interrupt::run(py, effort, |cancel| compare_selected(files, selected, tolerance, cancel))?;
    compared.map_err(|(side, error)| {
        let both = readers.into_iter().zip(files);
        match both.into_iter().nth(side) {
            Some((reader, open)) => reader.failed(py, open, error),
            None => CallFailure::from(error).at(py, None),
        }
    })
}
