//! Where all components of a manifest are: the first of each object beside the object, the others in a
//! list of their own, in the order of the manifest.

use super::index::{ComponentRecord, ObjectRecord};
use crate::error::Place;
use crate::num::{Assured as _, len_u32, usize_from_u32};

/// All objects and components, in the order of the manifest.
#[derive(Clone, Copy)]
pub(super) struct Records<'a> {
    pub(super) objects: &'a [ObjectRecord],
    /// The components that are not the first of their object.
    pub(super) others: &'a [ComponentRecord],
}

/// Which of all components one is, in 4 bytes: the first of the object of that place, or one of the others.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Which(u32);

impl Which {
    const OTHER: u32 = 1 << 31;

    /// The first component of an object.
    fn first(object: u32) -> Self {
        Self(object)
    }

    /// One that is not the first.
    fn other(place: u32) -> Self {
        Self(place | Self::OTHER)
    }

    /// The place among those that are not the first.
    fn among_others(self) -> Option<u32> {
        self.0.checked_sub(Self::OTHER)
    }
}

impl<'a> Records<'a> {
    /// Where those components of the object of that place begin that are not its first.
    fn begin(self, object: u32) -> u32 {
        let object = self.objects.get(usize_from_u32(object));
        object.map_or(len_u32(self.others.len()), |object| object.others())
    }

    /// The components of the object of that place.
    pub(super) fn of(self, object: u32) -> Group<'a> {
        let record = self.objects.get(usize_from_u32(object)).copied().assured();
        let mut others: &[_] = &[];
        if record.has_others() {
            let end = usize_from_u32(self.begin(object.saturating_add(1)));
            others = self.others.get(usize_from_u32(record.others())..end).assured();
        }
        Group { first: record.first(), others }
    }

    /// One component.
    pub(super) fn get(self, which: Which) -> Option<ComponentRecord> {
        match which.among_others() {
            None => self.objects.get(usize_from_u32(which.0))?.first(),
            Some(place) => self.others.get(usize_from_u32(place)).copied(),
        }
    }

    /// All components.
    pub(super) fn components(self) -> All<'a> {
        All { records: self, object: 0, other: 0 }
    }

    /// Where a component stands.
    #[cold]
    pub(super) fn place(self, which: Which) -> Place {
        let Some(other) = which.among_others() else {
            return Place::new(Some(which.0), Some(0));
        };
        let mut objects = self.objects.iter();
        // Those of an object without others begin where those of the next do.
        let object = objects.rposition(|object| object.others() <= other).assured();
        let object = len_u32(object);
        let component = other.checked_sub(self.begin(object)).assured().saturating_add(1);
        Place::new(Some(object), Some(component))
    }
}

/// All components, in order.
#[derive(Clone)]
pub(super) struct All<'a> {
    records: Records<'a>,
    /// What has not come yet: objects, and components that are not the first.
    object: u32,
    other: u32,
}

impl Iterator for All<'_> {
    type Item = (Which, ComponentRecord);

    fn next(&mut self) -> Option<Self::Item> {
        let Records { objects, others } = self.records;
        loop {
            // Those of the object before come first.
            if self.other < self.records.begin(self.object) {
                let which = Which::other(self.other);
                let record = others.get(usize_from_u32(self.other)).copied()?;
                self.other = self.other.wrapping_add(1);
                return Some((which, record));
            }
            let which = Which::first(self.object);
            let object = objects.get(usize_from_u32(self.object))?;
            self.object = self.object.wrapping_add(1);
            if let Some(record) = object.first() {
                return Some((which, record));
            }
        }
    }
}

/// The components of one object, in order.
#[derive(Clone, Copy)]
pub(super) struct Group<'a> {
    first: Option<ComponentRecord>,
    others: &'a [ComponentRecord],
}

impl Group<'_> {
    /// How many there are.
    pub(super) fn len(self) -> u32 {
        len_u32(self.others.len()).saturating_add(u32::from(self.first.is_some()))
    }

    /// The one of that place.
    pub(super) fn get(self, place: u32) -> Option<ComponentRecord> {
        match place.checked_sub(1) {
            None => self.first,
            Some(other) => self.others.get(usize_from_u32(other)).copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::{Records, Which};
    use crate::cbor::Remaining;
    use crate::element::StorageType;
    use crate::error::Place;
    use crate::format::{Encoding, Format, Logical};
    use crate::manifest::index::{ComponentFacts, ComponentRecord, Gathered, ObjectRecord};

    fn component(left: u32) -> ComponentRecord {
        let at = Remaining::from_left(left);
        ComponentRecord::new(&ComponentFacts {
            at,
            storage: Some(StorageType::U8),
            logical: Logical::NONE,
            encoding: Encoding::Raw,
            elsewhere: false,
            big: false,
            digest: false,
            offset: at,
            length: at,
        })
    }

    /// Objects of any number of components are found again, each component at its place.
    #[test]
    fn components_are_where_they_were() {
        let mut random = fastrand::Rng::with_seed(4);
        for round in 0..if cfg!(miri) { 10 } else { 500 } {
            let counts: Vec<u32> = (0..random.u32(0..9)).map(|_| random.u32(0..4)).collect();
            let (mut objects, mut others, mut left) = (Vec::new(), Vec::new(), 1_000_u32);
            for count in &counts {
                let name = Remaining::from_left(left);
                let mut components = Gathered::none(others.len().try_into().unwrap());
                for _ in 0..*count {
                    left -= 1;
                    if components.add(component(left)) {
                        others.push(component(left));
                    }
                }
                assert_eq!(components.count, *count);
                objects.push(ObjectRecord::new(name, Format::Dense, &components));
                left -= 1;
            }
            let records = Records { objects: &objects, others: &others };
            let mut all = records.components();
            let mut left = 1_000;
            for (object, count) in (0..).zip(&counts) {
                let record = &objects[usize::try_from(object).unwrap()];
                assert_eq!((record.name().left(), record.format()), (left, Format::Dense));
                let group = records.of(object);
                assert_eq!(group.len(), *count, "round {round}, {counts:?}");
                assert!(group.get(*count).is_none());
                for place in 0..*count {
                    left -= 1;
                    let (which, found) = all.next().expect("a component");
                    assert_eq!(found.at(), left, "round {round}, {counts:?}");
                    assert_eq!(group.get(place).map(ComponentRecord::at), Some(left));
                    assert_eq!(records.get(which).map(ComponentRecord::at), Some(left));
                    assert_eq!(records.place(which), Place::new(Some(object), Some(place)));
                }
                let only = record.only().map(ComponentRecord::at);
                assert_eq!(only, (*count == 1).then_some(left));
                left -= 1;
            }
            assert!(all.next().is_none());
            assert!(records.get(Which::first(counts.len().try_into().unwrap())).is_none());
        }
    }
}
