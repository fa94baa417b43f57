//! Collects the cases of all themes.

use crate::file::File;

/// A file that a reader must refuse.
pub(crate) struct Reject {
    /// The one rule that it breaks.
    pub(crate) rule: &'static str,
    /// The rest of its name.
    pub(crate) case: String,
    /// Itself.
    pub(crate) file: File,
    /// The accepted file that it differs from.
    pub(crate) neighbour: String,
    /// The options that a reader needs in order to refuse it so, or `-`.
    pub(crate) options: String,
}

/// The cases so far.
#[derive(Default)]
pub(crate) struct Table {
    /// Names and files to be accepted.
    pub(crate) accept: Vec<(String, File)>,
    /// Names of accepted files whose content cannot be judged, and what that ends in.
    pub(crate) opens_only: Vec<(String, &'static str)>,
    /// Files to be refused.
    pub(crate) reject: Vec<Reject>,
}

impl Table {
    /// A good file.
    pub(crate) fn accept(&mut self, name: impl Into<String>, file: File) {
        self.accept.push((name.into(), file));
    }

    /// A good file as far as it can be read: reading all of it ends in `why`.
    pub(crate) fn opens_only(&mut self, name: String, file: File, why: &'static str) {
        self.opens_only.push((name.clone(), why));
        self.accept.push((name, file));
    }

    /// A file that breaks `rule` and nothing else, and the name of its accepted neighbour.
    pub(crate) fn reject(
        &mut self,
        rule: &'static str,
        case: impl Into<String>,
        file: File,
        neighbour: &str,
    ) {
        self.reject_with(rule, case, file, neighbour, "-");
    }

    /// As [`Self::reject`], under options that are not the default ones.
    pub(crate) fn reject_with(
        &mut self,
        rule: &'static str,
        case: impl Into<String>,
        file: File,
        neighbour: &str,
        options: &str,
    ) {
        self.reject.push(Reject {
            rule,
            case: case.into(),
            file,
            neighbour: neighbour.to_owned(),
            options: options.to_owned(),
        });
    }
}
