//! Files that a text describes: a kind of file, and a number for each of its traits.

pub(crate) mod known;
mod maps;
mod places;
mod texts;
mod values;

use std::str::FromStr;

/// A trait of files of one kind: a number from 0 on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trait {
    name: &'static str,
    /// The largest number of the trait.
    most: u64,
}

/// Returns traits from pairs of a name and the largest number.
const fn traits<const N: usize>(pairs: [(&'static str, u64); N]) -> [Trait; N] {
    let mut traits = [Trait { name: "", most: 0 }; N];
    let mut at = 0;
    while at < N {
        traits[at] = Trait { name: pairs[at].0, most: pairs[at].1 };
        at += 1;
    }
    traits
}

/// A kind of file that a text can describe: its name, its traits, and the function that makes it.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    name: &'static str,
    traits: &'static [&'static [Trait]],
    make: fn(&Description) -> Vec<u8>,
}

/// All kinds of files that a text can describe.
const KINDS: &[Kind] = &[
    maps::ATTRIBUTES,
    maps::FIELDS,
    maps::ROLES,
    maps::NAMES,
    maps::NAMES_2,
    maps::ENTRIES,
    values::ITEMS,
    places::BLOBS,
    places::BLOBS_2,
    places::SHAPES,
    places::SHARDS,
];

/// The trait that all files have: the approximate size in KiB.
const SIZE: Trait = Trait { name: "kib", most: 64 };

impl Kind {
    /// Returns the kind named `name`.
    ///
    /// # Errors
    /// No kind has this name.
    fn named(name: &str) -> Result<Self, String> {
        let kind = KINDS.iter().find(|kind| kind.name == name);
        kind.copied().ok_or_else(|| format!("no kind is called {name}"))
    }

    fn all_traits(&self) -> impl Iterator<Item = Trait> + use<> {
        self.traits.iter().copied().flatten().copied().chain([SIZE])
    }
}

/// The description of a file: its kind, and a number for each trait.
///
/// It is parsed from a text: the name of the kind, followed by each trait that is not 0, and by `kib` if it is not 32: `attributes
/// count=4095 order=2 kib=32`.
#[derive(Clone)]
pub(crate) struct Description {
    kind: Kind,
    numbers: Vec<u64>,
}

impl Description {
    /// Generates the file that this description describes.
    pub(crate) fn file(&self) -> Vec<u8> {
        (self.kind.make)(self)
    }

    /// Returns the same description for a file of about the given number of bytes.
    #[must_use]
    pub(crate) fn sized(mut self, bytes: usize) -> Self {
        self.put(SIZE.name, (bytes >> 10) as u64);
        self
    }

    /// Returns the number of the trait `name`.
    fn get(&self, name: &str) -> usize {
        let at = self.kind.all_traits().position(|one| one.name == name);
        let number =
            self.numbers[at.unwrap_or_else(|| panic!("{} have no {name}", self.kind.name))];
        usize::try_from(number).expect("a small number")
    }

    fn put(&mut self, name: &str, number: u64) {
        let at = self.kind.all_traits().position(|one| one.name == name);
        self.numbers[at.unwrap_or_else(|| panic!("{} have no {name}", self.kind.name))] = number;
    }

    /// Returns the approximate number of bytes of the file.
    fn size(&self) -> usize {
        self.get(SIZE.name) << 10
    }
}

impl FromStr for Description {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut words = text.split_whitespace();
        let name = words.next().unwrap_or_default();
        let kind = Kind::named(name)?;
        let numbers = kind.all_traits().map(|_| 0).collect();
        let mut description = Self { kind, numbers };
        description.put(SIZE.name, 32);
        for word in words {
            let (name, number) = word.split_once('=').ok_or_else(|| format!("{word} has no ="))?;
            let most = kind.all_traits().find(|one| one.name == name);
            let most = most.ok_or_else(|| format!("{} have no {name}", kind.name))?.most;
            let number: u64 = number.parse().map_err(|_| format!("{number} is no number"))?;
            if number > most && name != SIZE.name {
                return Err(format!("{name} is {most} at most"));
            }
            description.put(name, number);
        }
        Ok(description)
    }
}
