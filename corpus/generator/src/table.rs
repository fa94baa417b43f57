//! Collects the cases of all themes: files to accept and files to reject.

use crate::file::File;
use crate::v2::FileV2;

/// A file that a reader must reject.
pub(crate) struct Reject {
    /// The only rule that the file breaks.
    pub(crate) rule: &'static str,
    /// The part of the file's name after the rule.
    pub(crate) case: String,
    /// The file to reject.
    pub(crate) file: File,
    /// The name of the accepted file that differs least from the file.
    pub(crate) neighbor: String,
    /// The options with which a reader reports this rule; `-` for the defaults.
    pub(crate) options: String,
}

/// The cases that have been collected so far.
#[derive(Default)]
pub(crate) struct Table {
    /// The names of accepted files before generation 2, and the files.
    pub(crate) accept: Vec<(String, File)>,
    /// The names of accepted files before generation 2 whose content cannot be read, and the unsupported feature
    /// because of which.
    pub(crate) opens_only: Vec<(String, &'static str)>,
    /// The files before generation 2 that a reader must reject.
    pub(crate) reject: Vec<Reject>,
    /// The names of accepted files of generation 2, the files, and the error of reading their content, if it cannot
    /// be read.
    pub(crate) accept_v2: Vec<(String, FileV2, Option<&'static str>)>,
    /// The files of generation 2 that a reader must reject.
    pub(crate) reject_v2: Vec<RejectV2>,
    /// Files of generation 2 that list shards, together with the shards.
    pub(crate) sharded: Vec<Sharded>,
}

/// A root of generation 2 and its shards.
pub(crate) struct Sharded {
    pub(crate) name: String,
    pub(crate) root: FileV2,
    /// The names and the contents of the shards.
    pub(crate) files: Vec<(String, Vec<u8>)>,
    /// The rule or the error with which validation ends; `None` for a valid file.
    pub(crate) rule: Option<&'static str>,
    pub(crate) options: &'static str,
    /// The valid file from which this one is made, if it breaks a rule; `-` otherwise.
    pub(crate) neighbor: &'static str,
}

impl Sharded {
    /// Returns a valid root with its shards.
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
    /// Adds a valid file before generation 2.
    pub(crate) fn accept(&mut self, name: impl Into<String>, file: File) {
        self.accept.push((name.into(), file));
    }

    /// Adds a file that opens, and whose content cannot be read because of `why`.
    pub(crate) fn opens_only(&mut self, name: String, file: File, why: &'static str) {
        self.opens_only.push((name.clone(), why));
        self.accept.push((name, file));
    }

    /// Adds a valid file of generation 2.
    pub(crate) fn accept_v2(&mut self, name: &str, file: FileV2) {
        self.accept_v2.push((name.to_owned(), file, None));
    }

    /// Adds a file of generation 2 that opens, and whose content cannot be read because of `why`.
    pub(crate) fn opens_only_v2(&mut self, name: &str, file: FileV2, why: &'static str) {
        self.accept_v2.push((name.to_owned(), file, Some(why)));
    }

    /// Adds a file of generation 2 that breaks only `rule`, with its accepted neighbor.
    pub(crate) fn reject_v2(
        &mut self,
        rule: &'static str,
        case: &str,
        file: FileV2,
        neighbor: &'static str,
    ) {
        self.reject_v2.push(RejectV2 { rule, case: case.to_owned(), file, neighbor });
    }

    /// Adds a file before generation 2 that breaks only `rule`, with the name of its accepted neighbor.
    pub(crate) fn reject(
        &mut self,
        rule: &'static str,
        case: impl Into<String>,
        file: File,
        neighbor: &str,
    ) {
        self.reject_with(rule, case, file, neighbor, "-");
    }

    /// Adds a rejected file as [`Self::reject`] does, with options that are not the defaults.
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
