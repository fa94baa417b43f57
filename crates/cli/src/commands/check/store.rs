//! Files in a store of downloaded models: blobs are compared with their names while they are checked, and manifests with
//! their blobs.

use std::path::Path;

use zten::ReadAt as _;
use zten::finding::Verdict;
use zten::formats::OtherKind;
use zten_report::catalog::POLICY_ROWS;
use zten_report::stores::{self, BlobDigest, MANIFEST, Manifest};

use super::validate::validate_any;
use crate::args::Check;
use crate::input::file::Opened;
use crate::output::kind::{Outcome, Valid};
use crate::output::report::Problem;

/// Validates a blob, whose name says that its content has the digest `expected`, and compares the digest in the same pass. A digest
/// that differs decides the verdict: it says more than the rule that the changed bytes break. The digest is not compared if the
/// file could not be read, or the policy rejects it.
pub(super) fn validate_blob(
    path: &Path,
    (file, expected): (Opened, BlobDigest),
    args: &Check,
) -> Outcome {
    let (file, hashed) = file.hashed(expected);
    let outcome = validate_any(path, file, args);
    let is_over = |problem: &Problem| {
        let finding = problem.finding();
        // The data of a file that the policy rejects is not read, so there is no digest to compare.
        finding.verdict == Verdict::Error
            || finding.row.is_some_and(|row| POLICY_ROWS.contains(&row))
    };
    let is_over = outcome.as_ref().is_err_and(|problem| is_over(problem));
    let Some(hashed) = hashed.filter(|_| !is_over) else { return outcome };
    let found = hashed.finish().map_err(|error| Box::new(Problem::opening(path, &error)))?;
    let Some(mut finding) = expected.compare(&found) else { return outcome };
    finding.format = match &outcome {
        Ok(valid) => Some(valid.format),
        Err(problem) => problem.finding().format,
    };
    Err(Box::new(Problem::found(path, finding)))
}

/// Validates a manifest of Ollama, and looks for the blobs that it lists. A manifest of more than [`MANIFEST`] bytes is not read.
pub(super) fn validate_manifest(path: &Path, file: &Opened) -> Outcome {
    let problem = |finding| Box::new(Problem::found(path, finding));
    let failed = |error: &zten::Error| Box::new(Problem::opening(path, error));
    if file.length > MANIFEST {
        return Err(problem(stores::too_long(file.length)));
    }
    let mut text = Vec::new();
    file.file.append_range(0..file.length, &mut text).map_err(|error| failed(&error))?;
    let manifest = Manifest::parse(&text).map_err(|finding| problem(*finding))?;
    let missing = match &file.blobs {
        Some(length) => stores::check_blobs(&manifest, length),
        None => Err(std::io::ErrorKind::NotFound.into()),
    };
    match missing.map_err(|error| Box::new(Problem::io(path, &error)))? {
        Some(finding) => Err(problem(finding)),
        None => Ok(Valid {
            verdict: Verdict::Other,
            summary: manifest.summary(),
            format: OtherKind::Json.name(),
            notes: Vec::new(),
        }),
    }
}
