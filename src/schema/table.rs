//! The tables: how one is written, and the reader that it becomes.

/// Declares a record of the manifest and the function that reads it.
///
/// Presence is `required(RULE)`, where an object without the field breaks RULE; `optional`; or
/// `nullable`, where null stands for absent.
macro_rules! table {
    (
        $(#[$outer:meta])*
        $name:ident<$m:lifetime>, within $level:literal levels, else $wrong_map:path;
        $( $key:literal => $slot:ident: $type:ty, $presence:ident $(($missing:path))?, else $wrong:path; )+
    ) => {
        $(#[$outer])*
        pub(crate) struct $name<$m> {
            $( pub(crate) $slot: $crate::schema::table!(@type $presence $type), )+
            marker: core::marker::PhantomData<&$m ()>,
        }

        const _: () = {
            use nom::Parser as _;
            use $crate::cbor::{Checked, Entries, Input, Keys, Mark, Parsed};
            use $crate::cbor::{check_utf8, fail, key, map_head, skip, spell, starts};
            use $crate::num::SMALL;
            use $crate::rules::{Limit, Rule};
            use $crate::schema::{Sink, Slot, Walk};

            #[expect(non_camel_case_types, reason = "a field is called what its slot is called")]
            #[derive(Clone, Copy)]
            enum Field<'m> {
                $( $slot, )+
                /// A key that is not in the table.
                Unknown(&'m [u8]),
            }

            impl<'m> Field<'m> {
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

                /// Reads a key.
                fn read(at: Input<'m>) -> Parsed<'m, Self> {
                    let (value, name) = key(at)?;
                    $( if name == $key.as_bytes() { return Ok((value, Self::$slot)); } )+
                    check_utf8(Mark::of(at), name)?;
                    Ok((value, Self::Unknown(name)))
                }
            }

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
                fn read<S: Sink<$m>>(
                    mut self,
                    walk: &mut Walk<'_, S>,
                    at: Input<$m>,
                    (mut input, mut entries): (Input<$m>, Entries),
                ) -> Parsed<$m, Self> {
                    let mut keys = Keys::default();
                    while entries.next(input) {
                        let (value, field) = Field::read(input)?;
                        if self.seen & field.bit() != 0 {
                            return fail(Rule::DuplicateKey, input);
                        }
                        match field {
                            $(
                                Field::$slot => {
                                    self.seen |= field.bit();
                                    if $crate::schema::table!(@is_null $presence value) {
                                        self.null |= field.bit();
                                        input = value.get(1..).unwrap_or_default();
                                    } else {
                                        (input, self.$slot) = Slot::take(walk, $wrong, value)?;
                                    }
                                }
                            )+
                            Field::Unknown(name) => {
                                keys.note(name);
                                input = skip(value, $level + 1, walk.limits.depth())?.0;
                            }
                        }
                    }
                    let rest = entries.end(input, at, Limit::Keys)?;
                    keys.finish(at, input)?;
                    Ok((rest, self))
                }
            }

            impl<$m> $name<$m> {
                /// The keys that it knows.
                #[cfg(feature = "write")]
                #[allow(dead_code, clippy::allow_attributes, reason = "not asked of all tables")]
                pub(crate) const KEYS: &'static [&'static str] = &[ $( $key, )+ ];

                /// Reads the map at `at` and hands the record to `then`, which spares moving it.
                #[inline(always)]
                pub(crate) fn read<S: Sink<$m>, O>(
                    walk: &mut Walk<'_, S>,
                    at: Input<$m>,
                    then: impl FnOnce(&mut Walk<'_, S>, Self) -> Checked<O>,
                ) -> Parsed<$m, O> {
                    let keys = walk.limits.keys();
                    let (mut input, mut entries) = map_head($wrong_map, keys).parse(at)?;
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
                                if $crate::schema::table!(@is_null $presence value) {
                                    null |= const { Field::$slot.bit() };
                                    input = value.get(1..).unwrap_or_default();
                                } else {
                                    (input, $slot) = <$type as Slot<$m>>::take(walk, $wrong, value)?;
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
                            $crate::schema::table!(@finish $presence $slot is_given at $($missing)?)
                        }, )+
                        marker: core::marker::PhantomData,
                    };
                    Ok((input, then(walk, record)?))
                }
            }
        };
    };
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

pub(crate) use table;
