//! Describes generated files by a kind and a number for each of its traits, which a search changes at random.

pub(crate) mod known;
mod maps;
mod places;
mod texts;
mod values;

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use fastrand::Rng;

/// A trait of files of one kind: a number from 0 on.
#[derive(Clone, Copy, Debug)]
pub struct Trait {
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

/// A kind of file.
#[derive(Clone, Copy)]
pub struct Kind {
    name: &'static str,
    traits: &'static [&'static [Trait]],
    make: fn(&Description) -> Vec<u8>,
}

/// All kinds of files.
pub const KINDS: &[Kind] = &[
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
    pub fn named(name: &str) -> Result<Self, String> {
        let kind = KINDS.iter().find(|kind| kind.name == name);
        kind.copied().ok_or_else(|| format!("no kind is called {name}"))
    }

    /// Returns the name of the kind.
    pub fn name(&self) -> &'static str {
        self.name
    }

    fn all_traits(&self) -> impl Iterator<Item = Trait> + use<> {
        self.traits.iter().copied().flatten().copied().chain([SIZE])
    }

    /// Returns a random description of this kind, for a file of 32 KiB.
    pub fn any(&self, rng: &mut Rng) -> Description {
        let numbers = self.all_traits().map(|one| any(one, rng)).collect();
        let mut description = Description { kind: *self, numbers };
        description.put(SIZE.name, 32);
        description
    }
}

/// Returns a random number for a trait: in half of the cases uniform, and in the other half with a uniform number of bits.
fn any(one: Trait, rng: &mut Rng) -> u64 {
    let most = if rng.bool() { one.most } else { one.most >> rng.u32(..=one.most.max(1).ilog2()) };
    rng.u64(..=most)
}

/// The description of a file: its kind, and a number for each trait.
///
/// Its text is the name of the kind, followed by each trait that is not 0:
/// `attributes count=4095 order=2 kib=32`.
#[derive(Clone)]
pub struct Description {
    kind: Kind,
    numbers: Vec<u64>,
}

impl Description {
    /// Returns the kind of file.
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// Generates the file.
    pub fn file(&self) -> Vec<u8> {
        (self.kind.make)(self)
    }

    /// Returns the same description for a file of about the given number of bytes.
    #[must_use]
    pub fn sized(mut self, bytes: usize) -> Self {
        self.put(SIZE.name, (bytes >> 10) as u64);
        self
    }

    /// Returns a similar description, in which one or a few traits have other numbers.
    #[must_use]
    pub fn changed(&self, rng: &mut Rng) -> Self {
        let mut changed = self.clone();
        let traits: Vec<Trait> = self.kind.all_traits().collect();
        for _ in 0..=[0, 0, 0, 1, 1, 2, 4][rng.usize(..7)] {
            // The size is never changed, because the work is proportional to the size.
            let at = rng.usize(..traits.len() - 1);
            let (number, one) = (&mut changed.numbers[at], traits[at]);
            *number = match rng.u8(..6) {
                0 => number.saturating_sub(1),
                1 => *number + 1,
                2 => *number * 2,
                3 => *number / 2,
                4 => *number ^ 1,
                _ => any(one, rng),
            }
            .min(one.most);
        }
        changed
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

impl Display for Description {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.name)?;
        let pairs = self.kind.all_traits().zip(&self.numbers);
        pairs
            .filter(|(_, number)| **number > 0)
            .try_for_each(|(one, number)| write!(f, " {}={number}", one.name))
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

#[cfg(test)]
mod tests {
    use super::{Description, KINDS};

    #[test]
    fn what_is_written_is_read() {
        let mut rng = fastrand::Rng::with_seed(1);
        for kind in KINDS {
            let mut description = kind.any(&mut rng);
            for _ in 0..100 {
                description = description.changed(&mut rng);
                let read: Description = description.to_string().parse().expect("a description");
                assert_eq!(read.numbers, description.numbers, "{description}");
            }
        }
    }

    #[test]
    fn every_description_is_of_a_file() {
        let mut rng = fastrand::Rng::with_seed(2);
        for kind in KINDS {
            for _ in 0..20 {
                let description = kind.any(&mut rng).sized(4 << 10);
                let length = description.file().len();
                assert!((16..1 << 20).contains(&length), "{description}: {length} bytes");
            }
        }
    }
}
