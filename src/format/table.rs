//! The tables: how one is written, and the reader that it becomes.

/// Declares a record of the manifest and the function that reads it.
///
/// Its CBOR is of `any` form, or `deterministic`, which has been proven before, or is where it is read.
/// Presence is `required(RULE)`, where an object without the field breaks RULE; `optional`; or
/// `nullable`, where null stands for absent.
macro_rules! table {
    (
        $(#[$outer:meta])*
        $name:ident<$m:lifetime>, keys $key_name:ident, within $level:literal levels of $form:ident CBOR,
        else $wrong_map:path;
        $( $key:literal => $slot:ident: $type:ty, $presence:ident $(($missing:path))?, else $wrong:path; )+
    ) => {
        $(#[$outer])*
        #[allow(dead_code, clippy::allow_attributes, reason = "some fields are only validated")]
        pub(crate) struct $name<$m> {
            $( $slot: $crate::format::table::table!(@type $presence $type), )+
            marker: core::marker::PhantomData<&$m ()>,
        }

        #[doc = concat!("The fields of [`", stringify!($name), "`].")]
        #[expect(non_camel_case_types, reason = "a field is called what its slot is called")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $key_name {
            $( $slot, )+
        }

        impl $key_name {
            /// In the order of the table, which readers guess first.
            #[cfg(feature = "write")]
            #[allow(dead_code, clippy::allow_attributes, reason = "not all tables are written")]
            pub(crate) const TABLE_ORDER: &'static [Self] = &[ $( Self::$slot, )+ ];

            /// In the order of deterministic CBOR: RFC 8949 §4.2.3.
            #[cfg(feature = "write")]
            #[allow(dead_code, clippy::allow_attributes, reason = "not all tables are written")]
            #[expect(clippy::indexing_slicing, reason = "evaluated when it is compiled")]
            pub(crate) const DETERMINISTIC_ORDER: &'static [Self] = &{
                let mut keys = [ $( Self::$slot, )+ ];
                let mut sorted = 1;
                while sorted < keys.len() {
                    let mut at = sorted;
                    while at > 0 && $crate::format::table::comes_before(keys[at].as_str(), keys[at - 1].as_str()) {
                        (keys[at], keys[at - 1]) = (keys[at - 1], keys[at]);
                        at -= 1;
                    }
                    sorted += 1;
                }
                keys
            };

            pub(super) const fn as_str(self) -> &'static str {
                match self { $( Self::$slot => $key, )+ }
            }

            /// To look it up later.
            #[allow(dead_code, clippy::allow_attributes, reason = "not all are looked up again")]
            pub(crate) const fn field(self) -> $crate::format::Field {
                $crate::format::Field(self.as_str())
            }

            /// The field of that key.
            #[inline(always)]
            pub(crate) fn named(key: &[u8]) -> Option<Self> {
                $( if key == $key.as_bytes() { return Some(Self::$slot); } )+
                None
            }

            /// Its bit in a set of fields.
            const fn bit(self) -> u32 {
                let mut bit = 1;
                $(
                    if matches!(self, Self::$slot) {
                        return bit;
                    }
                    bit <<= 1;
                )+
                bit
            }

            /// Writes the key.
            #[cfg(feature = "write")]
            #[allow(dead_code, clippy::allow_attributes, reason = "not all tables are written")]
            #[inline(always)]
            pub(crate) fn write(
                self,
                out: &mut $crate::cbor::Output,
            ) -> Result<(), $crate::error::OutOfMemory> {
                match self {
                    $( Self::$slot => {
                        out.raw(const { &$crate::cbor::spell::<{ $key.len() + 1 }>($key) })
                    } )+
                }
            }
        }

        const _: () = {
            use nom::Parser as _;
            use $crate::cbor::{Checked, Entries, Input, Keys, Remaining, Parsed};
            use $crate::cbor::{check_utf8, fail, key, skip, spell, starts};
            use $crate::format::claims::{Claims, Walk};
            use $crate::format::slots::Slot;
            use $crate::num::{Assured as _, SMALL};
            use $crate::rules::{Limit, Rule};
            use $key_name as Field;

            const DETERMINISTIC: bool = $crate::format::table::table!(@is_deterministic $form);
            const _: () = assert!(
                !DETERMINISTIC || $crate::format::table::ascend(&[ $( $key, )+ ]),
                "the order of the table is that of the manifest"
            );

            const _: () = assert!(
                [ $( $key, )+ ].len() <= 32,
                "a set of fields has room for each"
            );

            /// What has been read of a record.
            struct Slots<$m> {
                /// The fields that have been seen, and those of them that are null.
                seen: u32,
                null: u32,
                $( $slot: $type, )+
                marker: core::marker::PhantomData<&$m ()>,
            }

            impl<$m> Slots<$m> {
                /// Reads what is left of the map at `at`: fields in any order, and any others.
                #[inline(never)]
                fn read<C: Claims<$m>>(
                    mut self,
                    walk: &mut Walk<'_, C>,
                    at: Input<$m>,
                    (mut input, mut entries): (Input<$m>, Entries),
                ) -> Parsed<$m, Self> {
                    $crate::format::table::table!(@prove $form walk at $level);
                    // Those before are in the order of the table.
                    let mut keys = Keys::of(input);
                    while entries.next(input) {
                        let (value, name) = match key(input) {
                            Err(_) if DETERMINISTIC => {
                                let (value, ()) = skip(input, $level + 1, walk.limits.depth())?;
                                input = skip(value, $level + 1, walk.limits.depth())?.0;
                                continue;
                            }
                            read => read?,
                        };
                        let Some(field) = Field::named(name) else {
                            if !DETERMINISTIC {
                                check_utf8(Remaining::of(input), name)?;
                                keys.note(name);
                            }
                            input = skip(value, $level + 1, walk.limits.depth())?.0;
                            continue;
                        };
                        if self.seen & field.bit() != 0 {
                            return fail(Rule::DuplicateKey, input);
                        }
                        if !DETERMINISTIC {
                            keys.count();
                        }
                        match field {
                            $(
                                Field::$slot => {
                                    self.seen |= field.bit();
                                    if $crate::format::table::table!(@is_null $presence value) {
                                        self.null |= field.bit();
                                        input = value.get(1..).assured();
                                    } else {
                                        (input, self.$slot) = Slot::parse(walk, $wrong, value)?;
                                    }
                                }
                            )+
                        }
                    }
                    let rest = entries.end(input, at, Limit::Keys)?;
                    keys.finish(input)?;
                    Ok((rest, self))
                }
            }

            impl<$m> $name<$m> {
                /// Reads the map at `at` and hands the record to `then`, which spares moving it.
                #[inline(always)]
                pub(crate) fn read<C: Claims<$m>, O>(
                    walk: &mut Walk<'_, C>,
                    at: Input<$m>,
                    then: impl FnOnce(&mut Walk<'_, C>, Self) -> Checked<O>,
                ) -> Parsed<$m, O> {
                    let (mut input, mut entries) =
                        $crate::format::table::table!(@head $form $wrong_map, walk).parse(at)?;
                    let (mut seen, mut null) = (0, 0);
                    $( let mut $slot = <$type as Slot<$m>>::BLANK; )+
                    // Writers put fields in the order of the table and spell them with short heads.
                    'ordered: {
                        $(
                            if SMALL || !entries.are_left() {
                                break 'ordered;
                            }
                            if let Some(value) = starts(input, &const { spell::<{ $key.len() + 1 }>($key) }) {
                                entries = entries.but_one();
                                seen |= const { Field::$slot.bit() };
                                if $crate::format::table::table!(@is_null $presence value) {
                                    null |= const { Field::$slot.bit() };
                                    input = value.get(1..).assured();
                                } else {
                                    (input, $slot) = <$type as Slot<$m>>::parse(walk, $wrong, value)?;
                                }
                            }
                        )+
                    }
                    if !entries.are_over() {
                        let marker = core::marker::PhantomData;
                        let slots = Slots { seen, null, $( $slot, )+ marker };
                        let (rest, slots) = slots.read(walk, at, (input, entries))?;
                        input = rest;
                        (seen, null) = (slots.seen, slots.null);
                        $( $slot = slots.$slot; )+
                    }
                    let given = seen & !null;
                    let record = Self {
                        $( $slot: {
                            let is_given = given & const { Field::$slot.bit() } != 0;
                            $crate::format::table::table!(@finish $presence $slot is_given at $($missing)?)
                        }, )+
                        marker: core::marker::PhantomData,
                    };
                    Ok((input, then(walk, record)?))
                }
            }
        };
    };
    (@is_deterministic any) => { false };
    (@is_deterministic deterministic) => { true };
    (@prove any $walk:ident $at:ident $level:literal) => {};
    (@prove deterministic $walk:ident $at:ident $level:literal) => { $walk.prove($at, $level)? };
    (@head any $wrong:path, $walk:ident) => { $crate::cbor::map_head($wrong, $walk.limits.keys()) };
    // Order proves that keys are unique, so that there may be any number of them.
    (@head deterministic $wrong:path, $walk:ident) => { $crate::cbor::strict_map_head($wrong) };
    (@type required $type:ty) => { $type };
    (@type optional $type:ty) => { Option<$type> };
    (@type nullable $type:ty) => { Option<$type> };
    (@is_null nullable $value:ident) => { $value.first() == Some(&$crate::cbor::NULL) };
    (@is_null $presence:ident $value:ident) => { false };
    (@finish required $slot:ident $is_given:ident $at:ident $missing:path) => {
        if $is_given { $slot } else { return fail($missing, $at) }
    };
    (@finish $presence:ident $slot:ident $is_given:ident $at:ident) => {
        if $is_given { Some($slot) } else { None }
    };
}

/// Whether keys are in the order of deterministic CBOR.
pub(super) const fn ascend(mut keys: &[&str]) -> bool {
    while let [one, after @ ..] = keys {
        if let [next, ..] = after
            && !comes_before(one, next)
        {
            return false;
        }
        keys = after;
    }
    true
}

/// Whether a key comes before another in deterministic CBOR: the shorter, else by their bytes.
pub(super) const fn comes_before(one: &str, other: &str) -> bool {
    if one.len() != other.len() {
        return one.len() < other.len();
    }
    let (mut one, mut other) = (one.as_bytes(), other.as_bytes());
    while let ([a, after_a @ ..], [b, after_b @ ..]) = (one, other) {
        if *a != *b {
            return *a < *b;
        }
        (one, other) = (after_a, after_b);
    }
    false
}

pub(crate) use table;
