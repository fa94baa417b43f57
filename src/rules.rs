//! The catalog of the rules of zTensor: the sentence and the source of every rule that a zTensor file can break.
//!
//! Each rule has one row. `zten explain` prints the row, error messages are made of it, and `corpus/reject` is checked
//! against it: a rule without a file that breaks it fails the tests.

mod limit;
mod malformed;

pub use limit::{Limit, Unsupported};
pub use malformed::Rule;

use core::fmt;
use core::hash::{Hash, Hasher};

use crate::num::{enum_all, impl_display};

enum_all! {
/// The generation of the zTensor format whose rules a file follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Generation with
    /// Returns the number of the generation as a text: `0.1`, `1.1`, `1.2` or `2`.
    pub fn as_str -> &'static str
{
    /// Generation 0.1: files with the magic `ZTEN0001`.
    V0_1 = "0.1",
    /// Generation 1.1: files with the magic `ZTEN1000` and the minor version 0 or 1.
    V1_1 = "1.1",
    /// Generation 1.2: files with the magic `ZTEN1000` and the minor version 2 or more.
    V1_2 = "1.2",
    /// Generation 2 (Draft 4): files with the magic `89 5A 54 32 0D 0A 1A 0A`.
    V2 = "2",
}
}

impl_display! { Generation: as_str; }

/// The source of a rule: the document or the reason that makes it a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Source {
    /// The clauses of the specifications that state the rule.
    Spec(&'static str),
    /// No specification states the rule. The text says why a file that breaks it is rejected all the same, such as "tensors are
    /// missing".
    Implied(&'static str),
    /// The reason for a decision of this library about something that the specifications leave open.
    Policy(&'static str),
    /// Issues and advisories of readers that trusted a file that breaks the rule.
    Fault(&'static str),
}

/// The generations of the format that a rule holds for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Scope {
    /// The rule holds for every generation.
    All,
    /// The rule holds for generation 0.1: `ZTEN0001` files.
    V0,
    /// The rule holds for generations 1.1 and 1.2: `ZTEN1000` files.
    V1,
    /// The rule holds for generation 1.2: `ZTEN1000` files whose minor version is 2 or more.
    V1From2,
    /// The rule holds for generations 0.1, 1.1 and 1.2: `ZTEN0001` and `ZTEN1000` files.
    UpTo1,
    /// The rule holds for generations 1.1, 1.2 and 2.
    From1,
    /// The rule holds for generations 1.2 and 2.
    From1_2,
    /// The rule holds for generation 2.
    V2,
    /// The rule holds for files of other formats than zTensor, which the text names. No rule in the catalog of zTensor has
    /// this scope.
    Other(&'static str),
}

/// The consequence for a file that breaks a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// The file is invalid.
    Invalid,
    /// The file may be valid, but this library does not read all of it.
    Unsupported,
    /// The file exceeds a limit of the caller or of this library.
    Limit,
    /// The file is valid, but a known loader may fail on it, or zten did not read some of its content.
    Note,
}

/// One rule, limit or unsupported feature: a row of the catalog of its format. Two rows are equal if their ids are, and `Debug`
/// writes only the id.
pub struct Row {
    id: &'static str,
    class: Class,
    /// The texts of the rule. Without `std`, a row of this catalog has none, because an error holds its row, and a row with
    /// texts would put the texts of all rules into the flash of a program that never prints them. [`Row::texts`] looks them up.
    texts: Option<&'static Texts>,
}

/// The texts about a rule, limit or unsupported feature.
#[derive(Clone, Copy, Debug)]
pub struct Texts {
    /// A sentence that says what every valid file does. Empty in the catalog of zTensor without `std` or with `--cfg zten_terse`.
    pub holds: &'static str,
    /// A sentence that says what a file does that breaks the rule. Messages have the number that was found in place of `{}`.
    pub broken: &'static str,
    /// The document or the reason that makes the rule a rule.
    pub source: Source,
    /// The generations or formats that the rule holds for.
    pub scope: Scope,
    /// Advice for the person whose file breaks the rule. Empty without `std`.
    pub advice: &'static str,
}

impl PartialEq for Row {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Row {}

impl Hash for Row {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.id, f)
    }
}

impl Row {
    /// Creates a rule of the caller, such as one of a policy, with an `id` that no other rule has.
    pub const fn new(id: &'static str, class: Class, texts: &'static Texts) -> Self {
        Self { id, class, texts: Some(texts) }
    }

    /// Creates a row of the catalog of zTensor. Without `std` the row does not hold `texts`: [`texts`](Self::texts) looks
    /// them up by `id`.
    const fn of_catalog(id: &'static str, class: Class, texts: &'static Texts) -> Self {
        Self { id, class, texts: if cfg!(feature = "std") { Some(texts) } else { None } }
    }

    /// Returns the stable name of the rule in messages, `zten explain` and the corpus.
    pub const fn id(&self) -> &'static str {
        self.id
    }

    /// Returns the consequence for a file that breaks the rule: whether it is invalid, unsupported, over a limit, or valid
    /// with a note.
    pub const fn class(&self) -> Class {
        self.class
    }

    /// Returns a sentence that says what every valid file does. Empty for the rules of zTensor without `std` or with
    /// `--cfg zten_terse`.
    pub fn holds(&self) -> &'static str {
        self.texts().holds
    }

    /// Returns a sentence that says what a file does that breaks the rule. Messages have the number that was found in place of
    /// `{}`.
    pub fn broken(&self) -> &'static str {
        self.texts().broken
    }

    /// Returns where the rule comes from: clauses of a specification, a contradiction, a decision of zten, or published faults of
    /// loaders.
    pub fn source(&self) -> Source {
        self.texts().source
    }

    /// Returns the generations or formats that the rule holds for.
    pub fn scope(&self) -> Scope {
        self.texts().scope
    }

    /// Returns advice for the person whose file breaks the rule. Empty without `std`.
    pub fn advice(&self) -> &'static str {
        self.texts().advice
    }

    /// Returns the texts of the rule. A row that does not hold its texts is looked up in the catalog of zTensor.
    fn texts(&self) -> &'static Texts {
        self.texts.unwrap_or_else(|| texts_of(self.id))
    }
}

/// Returns the texts of the rule of this catalog whose id is `id`, or empty texts if there is no such rule.
fn texts_of(id: &str) -> &'static Texts {
    const NONE: Texts =
        Texts { holds: "", broken: "", source: Source::Policy(""), scope: Scope::All, advice: "" };
    let rule = Rule::ALL.iter().find(|rule| rule.row().id == id).map(|rule| rule.texts());
    let unsupported = || Unsupported::ALL.iter().find(|it| it.row().id == id).map(|it| it.texts());
    let limit = || Limit::ALL.iter().find(|limit| limit.row().id == id).map(|limit| limit.texts());
    rule.or_else(unsupported).or_else(limit).unwrap_or(&NONE)
}

impl Texts {
    /// Returns these texts as they are compiled into the program. Without `std`, texts that no message uses are replaced by
    /// empty texts to save flash. With `--cfg zten_terse`, which WebAssembly modules set, the same texts except the advice
    /// are replaced, because reports show advice.
    #[doc(hidden)]
    #[must_use]
    pub const fn built(self) -> Self {
        if cfg!(all(feature = "std", not(zten_terse))) {
            return self;
        }
        let source = match self.source {
            Source::Implied(_) => Source::Implied(""),
            Source::Policy(_) => Source::Policy(""),
            clause => clause,
        };
        let advice = if cfg!(feature = "std") { self.advice } else { "" };
        Self { holds: "", source, advice, ..self }
    }
}

/// The rules of a format other than zTensor on deflated content and on checksums, which are checked while content is read.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct StreamRules {
    /// The rule that compressed data can be decompressed, and that no bytes follow the compressed stream.
    pub compression: &'static Row,
    /// The rule that the number of decoded bytes is the number that the header gives.
    pub length: &'static Row,
    /// The rule that the decoded bytes have the stored checksum.
    pub checksum: &'static Row,
}

impl Source {
    /// Returns the clause of the specification, such as `v1.2 §4`. For rules without a clause, returns `implied` or `policy`,
    /// or the issues of the published faults.
    pub fn clause(&self) -> &'static str {
        match self {
            Self::Spec(clause) | Self::Fault(clause) => clause,
            Self::Implied(_) => "implied",
            Self::Policy(_) => "policy",
        }
    }
}

impl Scope {
    /// Returns the generations or the other formats for which the rule holds, as text for reports.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::All => "0.1, 1.1, 1.2, 2",
            Self::V0 => "0.1",
            Self::V1 => "1.1, 1.2",
            Self::V1From2 => "1.2",
            Self::UpTo1 => "0.1, 1.1, 1.2",
            Self::From1 => "1.1, 1.2, 2",
            Self::From1_2 => "1.2, 2",
            Self::V2 => "2",
            Self::Other(formats) => formats,
        }
    }
}

macro_rules! catalog {
    (
        $(#[$outer:meta])* $name:ident, $class:ident:
        $( $variant:ident $id:literal, $source:ident($why:literal), $scope:ident,
           $holds:literal, $broken:literal, $advice:expr; )+
    ) => {
        $(#[$outer])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum $name {
            $( #[doc = $holds] $variant, )+
        }

        impl $name {
            /// All rules, features or limits of this type, in the order of the catalog.
            pub const ALL: &'static [Self] = &[ $( Self::$variant, )+ ];

            /// Returns the row of this rule, feature or limit in the catalog.
            pub const fn row(self) -> &'static Row {
                match self {
                    $( Self::$variant => const {
                        &Row::of_catalog($id, Class::$class, Self::$variant.texts())
                    }, )+
                }
            }

            /// Returns the texts of this rule, feature or limit, as they are compiled in.
            pub(super) const fn texts(self) -> &'static Texts {
                match self {
                    $( Self::$variant => const { &Texts {
                        holds: $holds,
                        broken: $broken,
                        source: Source::$source($why),
                        scope: Scope::$scope,
                        advice: $advice,
                    }.built() }, )+
                }
            }
        }

        impl From<$name> for &'static Row {
            fn from(rule: $name) -> Self {
                rule.row()
            }
        }
    };
}

use catalog;

// Advice says what to do about the cause, and accuses nobody: most files that break a rule were damaged on the way, or
// written by a program with a defect.

const DAMAGED: &str = "The file was cut or damaged. Fetch it again and compare its digest.";
const WRITER: &str = "Write the file again with a program that follows the specification.";
/// The advice for rules about sizes and counts that are too large for the file.
const COUNTED: &str = "The manifest has a wrong number. Fetch the file again and compare its digest, or write it again.";
const NESTED: &str = "Tensors need no such nesting. Write the file again with flatter attributes.";
const CANONICAL: &str = "`zten convert --canonical` writes the canonical form of a file.";

/// Returns all rows of the catalog of zTensor: first the rules, then the unsupported features, then the limits.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    let rules = Rule::ALL.iter().map(|rule| rule.row());
    let unsupported = Unsupported::ALL.iter().map(|feature| feature.row());
    let limits = Limit::ALL.iter().map(|limit| limit.row());
    rules.chain(unsupported).chain(limits)
}

/// Returns the row of the catalog of zTensor with the id `id`; `None` if no row has this id.
pub fn find(id: &str) -> Option<&'static Row> {
    rows().find(|row| row.id == id)
}
