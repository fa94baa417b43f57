//! Collects the cases of all themes.

use crate::file::File;
use crate::v2::FileV2;

/// A file that a reader must reject.
pub(crate) struct Reject {
    /// The one rule that it breaks.
    pub(crate) rule: &'static str,
    /// The rest of its name.
    pub(crate) case: String,
    /// Itself.
    pub(crate) file: File,
    /// The accepted file that it differs from.
    pub(crate) neighbor: String,
    /// The options that a reader needs in order to reject it so, or `-`.
    pub(crate) options: String,
}

/// The cases so far.
#[derive(Default)]
pub(crate) struct Table {
    /// Names and files to be accepted.
    pub(crate) accept: Vec<(String, File)>,
    /// Names of accepted files whose content cannot be validated, and what that ends in.
    pub(crate) opens_only: Vec<(String, &'static str)>,
    /// Files to be rejected.
    pub(crate) reject: Vec<Reject>,
    /// Files of generation 2 to be accepted, and the error of validating their content, if it cannot be validated.
    pub(crate) accept_v2: Vec<(String, FileV2, Option<&'static str>)>,
    /// Files of generation 2 to be rejected.
    pub(crate) reject_v2: Vec<RejectV2>,
    /// Files of generation 2 that list shards, with those shards.
    pub(crate) sharded: Vec<Sharded>,
}

/// A root and its shards.
pub(crate) struct Sharded {
    pub(crate) name: String,
    pub(crate) root: FileV2,
    /// Names of shards, and what they hold.
    pub(crate) files: Vec<(String, Vec<u8>)>,
    /// The rule or error that validation ends in; none if the file is valid.
    pub(crate) rule: Option<&'static str>,
    pub(crate) options: &'static str,
    /// The valid one that it differs from, if it breaks a rule.
    pub(crate) neighbor: &'static str,
}

impl Sharded {
    /// A valid one.
    pub(crate) fn new(name: &str, root: FileV2, files: &[(&str, &[u8])]) -> Self {
        let files = files.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.to_vec()));
        let (files, rule) = (files.collect(), None);
        Self { name: name.to_owned(), root, files, rule, options: "-", neighbor: "-" }
    }
}

/// A file of generation 2 that a reader must reject.
pub(crate) struct RejectV2 {
    pub(crate) rule: &'static str,
    pub(crate) case: String,
    pub(crate) file: FileV2,
    pub(crate) neighbor: &'static str,
}

impl Table {
    /// A valid file.
    pub(crate) fn accept(&mut self, name: impl Into<String>, file: File) {
        self.accept.push((name.into(), file));
    }

    /// A valid file as far as it can be read: reading all of it ends in `why`.
    pub(crate) fn opens_only(&mut self, name: String, file: File, why: &'static str) {
        self.opens_only.push((name.clone(), why));
        self.accept.push((name, file));
    }

    /// A valid file of generation 2.
    pub(crate) fn accept_v2(&mut self, name: &str, file: FileV2) {
        self.accept_v2.push((name.to_owned(), file, None));
    }

    /// A valid file of generation 2 as far as it can be read: reading all of it ends in `why`.
    pub(crate) fn opens_only_v2(&mut self, name: &str, file: FileV2, why: &'static str) {
        self.accept_v2.push((name.to_owned(), file, Some(why)));
    }

    /// A file of generation 2 that breaks `rule` and nothing else, and its accepted neighbor.
    pub(crate) fn reject_v2(
        &mut self,
        rule: &'static str,
        case: &str,
        file: FileV2,
        neighbor: &'static str,
    ) {
        self.reject_v2.push(RejectV2 { rule, case: case.to_owned(), file, neighbor });
    }

    /// A file that breaks `rule` and nothing else, and the name of its accepted neighbor.
    pub(crate) fn reject(
        &mut self,
        rule: &'static str,
        case: impl Into<String>,
        file: File,
        neighbor: &str,
    ) {
        self.reject_with(rule, case, file, neighbor, "-");
    }

    /// Adds a file to be rejected as [`Self::reject`] does, under options that are not the default ones.
    pub(crate) fn reject_with(
        &mut self,
        rule: &'static str,
        case: impl Into<String>,
        file: File,
        neighbor: &str,
        options: &str,
    ) {
        self.reject.push(Reject {
            rule,
            case: case.into(),
            file,
            neighbor: neighbor.to_owned(),
            options: options.to_owned(),
        });
    }
}
