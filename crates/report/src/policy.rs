//! Policies: requirements on valid files beyond the rules of the formats, and findings that are tolerated.
//!
//! A policy is read by the process that the user called, and sent to the confined process that reads the file. That process
//! checks the file against the policy after the file's manifest is valid, and before it reads the data.

use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use serde::de::{Error as _, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use zten::error::Location;
use zten::escape::quoted;
use zten::finding::{Finding, Verdict, ZTENSOR, format_name};
use zten::formats::{Block, Format, KINDS};
use zten::num::u64_from_usize;
use zten::rules::{Class, Row};
use zten::{Component, DType, Digest, Encoding, Generation, Manifest, Tensor};

use crate::catalog::{self, COMPRESSION, DIGEST, DTYPE, FORMAT, SIZE, STORE};
use crate::dtype;
use crate::size::{self, human};
use crate::stores::Role;
use crate::totals::dtype_name;

/// The largest length in bytes of the file of a policy.
const MOST: u64 = 1 << 20;

/// The ids of the rules about the values of elements. A policy may tolerate them, because a file that breaks such a rule has
/// nevertheless been checked to its end.
const VALUE_RULES: [&str; 5] =
    ["bool-value", "nibble-value", "tensor-bool-value", "index-order", "cell-repeated"];

/// The names of the digest algorithms that a policy may require. CRC-32C is not listed, because it detects accidental changes only.
const DIGESTS: [&str; 2] = ["sha256", "xxh3"];

/// The requirements of a caller beyond the rules of the file formats, as the TOML file states them that `docs/policy.md` describes.
/// A key that the file does not have requires nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Policy {
    /// The only formats that files may have, by name. `None` allows all formats.
    #[serde(deserialize_with = "formats")]
    allow_formats: Option<Vec<String>>,
    /// The formats that files may not have, by name. `None` forbids no format.
    #[serde(deserialize_with = "formats")]
    forbid_formats: Option<Vec<String>>,
    /// The only dtypes that components may have, by name. `None` allows all dtypes.
    #[serde(deserialize_with = "dtypes")]
    allow_dtypes: Option<Vec<String>>,
    /// The largest size in bytes that a file may have. It holds for each shard of the file, too.
    max_file_size: Option<Size>,
    /// The largest number of bytes that all tensors of a file together may have after decoding.
    max_decoded_size: Option<Size>,
    /// The largest number of bytes that a tensor may have after decoding.
    max_tensor_size: Option<Size>,
    /// The largest number of tensors that a file may have.
    max_tensors: Option<u64>,
    /// The accepted digest algorithms. Each component must have a digest by one of them.
    #[serde(deserialize_with = "digests")]
    require_digests: Option<Vec<String>>,
    /// True if each file must be in a store, such as the cache of the Hugging Face hub, that names the file by the digest of its
    /// content.
    require_store_digest: bool,
    /// True if no component may be compressed.
    forbid_compression: bool,
    /// The classes and functions that pickles may import beyond those that zten knows, as in `omegaconf.ListConfig`.
    #[serde(deserialize_with = "globals")]
    allow_globals: Option<Vec<String>>,
    /// The ids of the rules whose findings do not make the command fail, although it reports them.
    #[serde(deserialize_with = "tolerable_rules")]
    tolerate: Option<Vec<String>>,
    /// The ids of the rules whose notes count as errors, so that a file with such a note is rejected.
    #[serde(deserialize_with = "known_rules")]
    deny: Option<Vec<String>>,
}

/// A number of bytes, written in a policy as an integer or as a text such as `10GiB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Size(u64);

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Spelled;
        impl Visitor<'_> for Spelled {
            type Value = Size;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of bytes, or a text such as \"10GiB\"")
            }

            fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Size, E> {
                let size = u64::try_from(value).map(Size);
                size.map_err(|_| E::custom(format!("invalid size {value}")))
            }

            fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Size, E> {
                size::parse(value).map(Size).map_err(E::custom)
            }
        }
        // A policy is sent to a worker process in a binary format, in which a size is always a number and never a text.
        if deserializer.is_human_readable() {
            deserializer.deserialize_any(Spelled)
        } else {
            u64::deserialize(deserializer).map(Self)
        }
    }
}

/// Deserializes a list of names. `check` returns an error for a name that is not allowed. The message of that error has the name
/// unescaped, because the caller of the parser escapes the whole message.
fn names<'de, D: Deserializer<'de>>(
    deserializer: D,
    check: impl Fn(&str) -> Result<(), String>,
) -> Result<Option<Vec<String>>, D::Error> {
    let names = Option::<Vec<String>>::deserialize(deserializer)?;
    names.iter().flatten().try_for_each(|name| check(name)).map_err(D::Error::custom)?;
    Ok(names)
}

/// Checks that `name` is one of the names in `known`. The error lists these names, and `what` says what they are names of, such as
/// "format".
fn check_known(what: &str, name: &str, known: &[impl AsRef<str>]) -> Result<(), String> {
    if known.iter().any(|one| one.as_ref() == name) {
        return Ok(());
    }
    let known: Vec<_> = known.iter().map(AsRef::as_ref).collect();
    Err(format!("unknown {what} \"{name}\": expected {}", known.join(", ")))
}

fn formats<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<String>>, D::Error> {
    let generations = ["0.1", "1.1", "1.2", "2"].map(|own| format!("{ZTENSOR}-{own}"));
    let named = zten::formats::rules::rows().filter_map(|row| row.id().strip_prefix("format-"));
    // The name of the format of an index begins with the format of the files that it names, as in `torch-index`.
    let read = Format::ALL.iter().map(|format| format.name()).chain(["torch-index"]);
    let others =
        read.chain(named.filter(|name| *name != "unknown")).chain(KINDS).map(str::to_owned);
    let known: Vec<_> = [ZTENSOR.to_owned()].into_iter().chain(generations).chain(others).collect();
    names(deserializer, |name| check_known("format", name, &known))
}

/// Deserializes a list of dtypes and of block types of GGUF, in upper or lower case. A dtype may also have a name of another
/// program, such as `bfloat16`: the result has its name in zTensor. Names of NumPy types that zten does not interpret are kept.
fn dtypes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<String>>, D::Error> {
    let plain = DType::ALL.iter().filter(|dtype| **dtype != DType::Unknown).map(|own| own.name());
    let known: Vec<_> = plain.chain(Block::names()).collect();
    let meant = |name: &str| {
        let block = || Block::names().find(|own| own.eq_ignore_ascii_case(name));
        dtype::parse(name).or_else(block)
    };
    let mut given = names(deserializer, |name| {
        if is_numpy_name(name) || meant(name).is_some() {
            Ok(())
        } else {
            check_known("dtype", name, &known)
        }
    })?;
    for name in given.iter_mut().flatten() {
        if let Some(meant) = meant(name) {
            meant.clone_into(name);
        }
    }
    Ok(given)
}

fn digests<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<String>>, D::Error> {
    names(deserializer, |name| check_known("digest algorithm", name, &DIGESTS))
}

/// Deserializes a list of names of Python classes, each a module, a dot, and the name of a class in this module. All parts between
/// dots must be plain identifiers of ASCII characters.
fn globals<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<String>>, D::Error> {
    let is_word = |word: &str| {
        word.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
            && word.starts_with(|first: char| !first.is_ascii_digit())
    };
    names(deserializer, |name| match name.split('.').count() {
        2.. if name.split('.').all(is_word) => Ok(()),
        _ => Err(format!(
            "invalid class \"{name}\": expected a module and a name, as in omegaconf.listconfig.ListConfig"
        )),
    })
}

fn tolerable_rules<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<String>>, D::Error> {
    names(deserializer, |name| match catalog::find(name) {
        None => check_known_rule(name),
        // A file with such a pickle must never pass: only its imports are checked.
        Some(row) if row.id() == "npy-objects" => Err(format!(
            "rule {name} cannot be tolerated: zten checks what the pickled objects import, and not what they do with it"
        )),
        Some(row) if row.id() == GLOBAL => Err(format!(
            "rule {name} cannot be tolerated: an import may run any code; `allow-globals` names the classes that may be imported"
        )),
        Some(row) if row.class() == Class::Unsupported => Ok(()),
        Some(row) if VALUE_RULES.contains(&row.id()) => Ok(()),
        Some(row) if row.class() == Class::Note => Err(format!(
            "rule {name} makes notes only, which fail no command; `deny` makes them errors"
        )),
        Some(_) => Err(format!(
            "rule {name} cannot be tolerated: the check of a file ends where the file breaks this rule; expected a rule about a feature that is not supported, or {}",
            VALUE_RULES.join(", ")
        )),
    })
}

fn known_rules<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<String>>, D::Error> {
    names(deserializer, check_known_rule)
}

/// Checks that `name` is the id of a rule of this or of an earlier version of zten.
fn check_known_rule(name: &str) -> Result<(), String> {
    if catalog::find(name).is_some() || catalog::is_retired(name) {
        return Ok(());
    }
    Err(format!("unknown rule \"{name}\"; `zten explain` lists all rules"))
}

/// Reads the policy in the TOML file at `path`.
///
/// # Errors
/// The file cannot be read, is longer than 1 MiB, or is not a valid policy. The message about invalid TOML or an invalid value
/// names the line.
pub fn read(path: impl AsRef<Path>) -> Result<Box<Policy>, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let mut text = String::new();
    let read = file.take(MOST.saturating_add(1)).read_to_string(&mut text);
    if u64_from_usize(read.map_err(|error| error.to_string())?) > MOST {
        return Err(format!("policy exceeds the maximum of {MOST} bytes"));
    }
    parse(&text).map(Box::new)
}

fn parse(text: &str) -> Result<Policy, String> {
    let policy: Policy = toml::from_str(text).map_err(|mut error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let line = before.matches('\n').count().saturating_add(1);
        // Without its input, the error names the key in one line. With it, the error prints an excerpt of several lines.
        error.set_input(None);
        format!("line {line}: {}", error.to_string().trim_end().replace('\n', " "))
    })?;
    if let Some(rule) = policy.tolerate.iter().flatten().find(|rule| policy.denies(rule)) {
        return Err(format!("rule {rule} is in `tolerate` and in `deny`"));
    }
    // An empty policy is probably a file that was truncated or never written, and must not let every file pass.
    if policy == Policy::default() {
        return Err("the policy has no requirement".to_owned());
    }
    Ok(policy)
}

/// The violations of a policy by a file whose manifest is valid.
#[derive(Debug)]
pub struct Violations<'a> {
    /// The finding about the first violation, for the report about the file.
    pub finding: Finding,
    /// The other tensors that violate the policy. `None` if the file as a whole violates it: then tensors are not checked.
    pub others: Option<Vec<Tensor<'a>>>,
}

/// A violation of a policy: the rule of the violated requirement, the sentence for the message, and the component that violates the
/// requirement. The component is `None` if the file or tensor as a whole violates it.
type Violation<'a> = (&'static Row, String, Option<Component<'a>>);

/// The id of the rule that limits which Python classes and functions the pickles of PyTorch files may import.
pub const GLOBAL: &str = "torch-global";

impl Policy {
    /// Returns whether the policy names classes that pickles may import. If it does, the caller opens files with the tolerance for
    /// unknown imports, and afterwards asks [`allows_all_globals`](Self::allows_all_globals) about the imports.
    pub fn allows_globals(&self) -> bool {
        self.allow_globals.is_some()
    }

    /// Returns whether the policy names every class and function that the pickles of a file import. `findings` are the findings
    /// about the file: those by the rule `torch-global` have the names. Returns false for a policy without such a list of names.
    pub fn allows_all_globals(&self, findings: &[zten::manifest::Finding]) -> bool {
        // Other findings have names, too: `torch-left-out` has those of the values that are left out.
        let imports = findings.iter().filter(|finding| finding.error().rule() == Some(GLOBAL));
        let mut names = imports.flat_map(zten::manifest::Finding::names);
        self.allow_globals
            .as_ref()
            .is_some_and(|allowed| names.all(|name| allowed.iter().any(|one| one == name)))
    }

    /// Returns whether the policy tolerates findings of the rule `row`. A finding without a rule (`None`) is not tolerated.
    pub fn tolerates(&self, row: Option<&Row>) -> bool {
        let tolerated = self.tolerate.as_deref().unwrap_or_default();
        row.is_some_and(|row| tolerated.iter().any(|id| id == row.id()))
    }

    /// Returns whether the policy requires that the content of each file was compared with the digest by which a store names the
    /// file. [`check_store`](Self::check_store) checks this requirement.
    pub fn requires_store_digest(&self) -> bool {
        self.require_store_digest
    }

    /// Checks whether a file with this `role` in a store of downloaded models was compared with a digest, and returns the violation
    /// if the policy requires that and it was not. The caller has compared the content of blobs, and the blobs that a manifest
    /// lists. `holds_no_tensors` is true for a file of a kind that holds no tensors, such as text: a record of the store that is of
    /// such a kind needs no digest.
    pub fn check_store(&self, role: &Role, holds_no_tensors: bool) -> Option<Finding> {
        let sentence = match role {
            _ if !self.require_store_digest => return None,
            Role::Blob(_) | Role::Manifest => return None,
            Role::Record if holds_no_tensors => return None,
            Role::Unfinished => {
                "the download or creation of the file has not ended, so its content was not compared"
            }
            Role::Outside | Role::Record => {
                "the content was not compared, because the name of the file is not its digest in a store"
            }
        };
        let mut finding = Finding::new(Verdict::Invalid, sentence.to_owned());
        finding.row = Some(&STORE);
        Some(finding)
    }

    /// Returns whether the policy makes each note of the rule with the id `id` an error.
    pub fn denies(&self, id: &str) -> bool {
        self.deny.iter().flatten().any(|denied| denied == id)
    }

    /// Returns whether the policy allows files of `format` and, for zTensor, `generation`. An index, which names other files and
    /// holds no tensors itself, is allowed if the format of these files is allowed, and the policy does not forbid indices of this
    /// format.
    fn allows_format(&self, format: &str, generation: Option<Generation>) -> bool {
        let own = generation.map(|own| format!("{format}-{}", own.as_str()));
        let named = format.strip_suffix("-index");
        let holds = |names: &Vec<String>, format: &str| {
            names.iter().any(|name| name == format || Some(name) == own.as_ref())
        };
        let allowed = |names: &Vec<String>| holds(names, named.unwrap_or(format));
        let forbidden = |names: &Vec<String>| {
            holds(names, format) || named.is_some_and(|named| holds(names, named))
        };
        self.allow_formats.as_ref().is_none_or(allowed)
            && !self.forbid_formats.as_ref().is_some_and(forbidden)
    }

    /// Checks a file against the requirements of the policy, except those about stores and the imports of pickles. `manifest` is
    /// the valid manifest of the file, and `length` the size of the file in bytes.
    ///
    /// # Errors
    /// The file violates a requirement. The error has the first violation, and the other tensors with a violation.
    pub fn check<'a, B: AsRef<[u8]>>(
        &self,
        manifest: &'a Manifest<B>,
        length: u64,
    ) -> Result<(), Box<Violations<'a>>> {
        let found = |(row, sentence, component): Violation<'_>| {
            let mut finding = Finding::new(Verdict::Invalid, sentence);
            finding.row = Some(row);
            finding.offset = component.map(|component| component.extent().offset());
            let place = component.map_or(Location::default(), |component| component.location());
            finding.named(manifest, place)
        };
        if let Some((violation, shard)) = self.violation_of_file(manifest, length) {
            let shard = shard.map(str::to_owned);
            let finding = Finding { shard, ..found(violation) };
            return Err(Box::new(Violations { finding, others: None }));
        }
        let mut violations = manifest
            .tensors()
            .filter_map(|tensor| self.violation_of_tensor(&tensor).map(|found| (tensor, found)));
        let Some((_, first)) = violations.next() else { return Ok(()) };
        let finding = found(first);
        let others = Some(violations.map(|(tensor, _)| tensor).collect());
        Err(Box::new(Violations { finding, others }))
    }

    /// Returns the first violation that concerns the file as a whole: its format, its size and that of its shards, the number of
    /// tensors, and their size after decoding. If the size of a shard is the violation, also returns the name of this shard.
    fn violation_of_file<'a, B: AsRef<[u8]>>(
        &self,
        manifest: &'a Manifest<B>,
        length: u64,
    ) -> Option<(Violation<'a>, Option<&'a str>)> {
        if let Some(violation) =
            self.violation_of_format(format_name(manifest), manifest.generation())
        {
            return Some((violation, None));
        }
        let own = [(length, None)].into_iter();
        let shards = manifest.shards().map(|shard| (shard.size(), Some(shard.name())));
        let files = own.chain(shards).find_map(|(size, shard)| {
            check_max_size("file size", Some(size), self.max_file_size).map(|found| (found, shard))
        });
        let tensors = u64_from_usize(manifest.len());
        let count = self.max_tensors.filter(|most| tensors > *most).map(|most| {
            (&SIZE, format!("number of tensors {tensors} exceeds the maximum of {most}"), None)
        });
        files.or_else(|| {
            let decoded = || {
                check_max_size("decoded size", decoded(manifest.tensors()), self.max_decoded_size)
            };
            Some((count.or_else(decoded)?, None))
        })
    }

    fn violation_of_format(
        &self,
        format: &str,
        generation: Option<Generation>,
    ) -> Option<Violation<'static>> {
        let words = match generation {
            Some(generation) => format!("{format}-{}", generation.as_str()),
            None => format.to_owned(),
        };
        (!self.allows_format(format, generation))
            .then(|| (&FORMAT, format!("format {words} is not allowed"), None))
    }

    /// Returns the first violation of the policy by a component of `tensor`, or by the size of the tensor after decoding.
    fn violation_of_tensor<'a>(&self, tensor: &Tensor<'a>) -> Option<Violation<'a>> {
        let of_component = tensor.components().find_map(|component| {
            let (row, sentence) = self.violation_of_component(&component)?;
            Some((row, sentence, Some(component)))
        });
        of_component.or_else(|| {
            let size = decoded([*tensor].into_iter());
            let (row, sentence, _) = check_max_size("decoded size", size, self.max_tensor_size)?;
            Some((row, sentence, tensor.components().next()))
        })
    }

    fn violation_of_component(&self, component: &Component<'_>) -> Option<(&'static Row, String)> {
        if let Some(allowed) = &self.allow_dtypes {
            let dtype = dtype_name(component);
            let name = dtype.as_deref().or_else(|| numpy_name(component));
            if !allowed.iter().any(|own| Some(own.as_str()) == name) {
                let words = dtype.unwrap_or_else(|| quoted(component.type_name()).into());
                return Some((&DTYPE, format!("dtype {words} is not allowed")));
            }
        }
        // An encoding that zten does not know may be a compression.
        let encoding = component.encoding();
        let may_compress = encoding.is_compressed() || encoding == Encoding::Unknown;
        if self.forbid_compression && may_compress {
            let words = format!("encoding {} is not allowed", quoted(component.encoding_name()));
            return Some((&COMPRESSION, words));
        }
        let required = self.require_digests.as_ref()?;
        let own = component.digest();
        let algorithm = own.as_ref().map(Digest::algorithm);
        // A digest that zten cannot verify may have the name of a required algorithm, such as `xxh3:…` in 0.1 and 1.x, or the
        // text `sha256` alone in 0.1. Such a digest does not satisfy the policy.
        let is_verifiable = !matches!(own, Some(Digest::Unverifiable(_)));
        if is_verifiable && required.iter().any(|one| Some(one.as_str()) == algorithm) {
            return None;
        }
        let required = required.join(" or ");
        let found = algorithm.map_or("none".to_owned(), quoted);
        Some((&DIGEST, format!("expected a digest by {required}, found {found}")))
    }

    /// Checks a file of `length` bytes that zten does not read because of `finding`: something that is not supported, or a limit
    /// that is exceeded. Returns the finding about a violation of the policy, which replaces `finding`. Checks the format and the
    /// length of the file. Numbers that are not known, such as the number of tensors, violate each maximum that the policy has for
    /// them. An unknown format violates a list of allowed formats, unless the policy tolerates the rule of `finding`. Requirements
    /// on dtypes, digests and compression are not checked. Returns `None` for other findings.
    pub fn check_unread(&self, finding: &Finding, length: u64) -> Option<Finding> {
        if !matches!(finding.verdict, Verdict::Unsupported | Verdict::Limit) {
            return None;
        }
        let violation = match finding.format {
            Some(format) => self.violation_of_format(format, finding.generation),
            // A file of an unknown format is not in any list of allowed formats.
            None if self.allow_formats.is_some() && !self.tolerates(finding.row) => {
                Some((&FORMAT, "a file of an unknown format is not allowed".to_owned(), None))
            }
            None => None,
        };
        let violation = violation.or_else(|| self.violation_of_length(length)).or_else(|| {
            let unknown = |what: &str, most| check_max_size(what, None, most);
            let count = |most| {
                let sentence = format!("unknown number of tensors: expected at most {most}");
                (&SIZE, sentence, None)
            };
            self.max_tensors
                .map(count)
                .or_else(|| unknown("decoded size", self.max_decoded_size))
                .or_else(|| unknown("size of the largest tensor", self.max_tensor_size))
        });
        let (row, sentence, _) = violation?;
        let mut violated = Finding::new(Verdict::Invalid, sentence);
        (violated.row, violated.format) = (Some(row), finding.format);
        Some(violated)
    }

    /// Checks a file of `length` bytes that holds no tensors, such as a text. `kind` is the name of this kind of file. Returns the
    /// finding that the policy forbids the kind, or that the file is too long.
    pub fn check_other(&self, kind: &'static str, length: u64) -> Option<Finding> {
        let is_forbidden = self.forbid_formats.iter().flatten().any(|name| name == kind);
        let forbidden = || {
            let sentence = format!("a file of the kind {kind} is not allowed");
            is_forbidden.then_some((&FORMAT, sentence, None))
        };
        let violation = forbidden().or_else(|| self.violation_of_length(length));
        let (row, sentence, _): Violation<'_> = violation?;
        let mut finding = Finding::new(Verdict::Invalid, sentence);
        (finding.row, finding.format) = (Some(row), Some(kind));
        Some(finding)
    }

    fn violation_of_length(&self, length: u64) -> Option<Violation<'static>> {
        check_max_size("file size", Some(length), self.max_file_size)
    }

    /// Returns the index of the first of `notes` that the policy makes an error, or `None` if there is no such note.
    pub fn denied(&self, notes: &[Finding]) -> Option<usize> {
        notes.iter().position(|note| note.row.is_some_and(|row| self.denies(row.id())))
    }
}

/// Turns `note` into an error, whose sentence says that the policy makes the note one. Called for notes that a policy denies.
pub fn to_error(mut note: Finding) -> Finding {
    note.verdict = Verdict::Invalid;
    note.sentence.push_str(": the policy makes this note an error");
    note
}

/// Returns whether `name` has the form of a NumPy type that zten does not interpret, such as `<U7` (strings) or a list of fields in
/// brackets.
fn is_numpy_name(name: &str) -> bool {
    name.starts_with(['<', '>', '|', '['])
}

/// Returns the name of a type of NumPy that zten does not interpret, if the elements of `component` have such a type and the file
/// is not a zTensor file. No other unknown name is compared with the allowed dtypes: a file could give an unknown type the name of
/// an allowed dtype.
fn numpy_name<'a>(component: &Component<'a>) -> Option<&'a str> {
    let name = Some(component.type_name()).filter(|name| is_numpy_name(name));
    name.filter(|_| component.generation().is_none())
}

/// Returns the number of bytes of all components of `tensors` after decoding, or `None` if the length of a component is not known.
/// Fields of records share the bytes of the records, so these bytes are counted once.
fn decoded<'a>(mut tensors: impl Iterator<Item = Tensor<'a>>) -> Option<u64> {
    tensors.try_fold(0_u64, |sum, tensor| {
        let mut owners = tensor.components().filter(|component| !component.is_field_of_records());
        owners.try_fold(sum, |sum, component| {
            component.decoded_length().map(|length| sum.saturating_add(length))
        })
    })
}

/// Returns a violation if `size` is larger than the maximum `most`, or if `size` is not known. Returns `None` if the policy has no
/// maximum. `what` names the size in the message.
fn check_max_size(what: &str, size: Option<u64>, most: Option<Size>) -> Option<Violation<'static>> {
    let Size(most) = most?;
    let words = match size {
        Some(size) if size <= most => return None,
        Some(size) => {
            format!("{what} {size} exceeds the maximum of {most} bytes ({})", human(most))
        }
        None => format!("unknown {what}: expected at most {most} bytes"),
    };
    Some((&SIZE, words, None))
}
