//! The macro `table!`, which turns a table of the fields of a CBOR map in a manifest into a type and its parser.

/// Declares a record of the manifest as a table of fields, and generates the types and functions that read it.
///
/// `any` CBOR may have any valid form. `deterministic` CBOR must be in its deterministic form; if a record around this one
/// has not been checked as a whole, this one is checked as it is read.
///
/// A field is `required(RULE)`: a record without it breaks RULE; or `optional`; or `nullable`: optional, and `null` means
/// the same as absent.
macro_rules! table {
    (
        $(#[$outer:meta])*
        $name:ident<$m:lifetime>, keys $key_name:ident, reader $reader:ident, within $level:literal levels of $form:ident CBOR,
        else $wrong_map:path;
        $( $key:literal => $slot:ident: $type:ty, $presence:ident $(($missing:path))?, else $wrong:path; )+
    ) => {
        $(#[$outer])*
        #[allow(dead_code, clippy::allow_attributes, reason = "some fields are only validated")]
        pub(crate) struct $name<$m> {
            $( $slot: $crate::formats::ztensor::table::table!(@type $presence $type), )+
            marker: core::marker::PhantomData<&$m ()>,
        }

        #[doc = concat!("Reads [`", stringify!($name), "`] field by field, in any order.")]
        pub(crate) struct $reader<$m> {
            at: $crate::cbor::Input<$m>,
            input: $crate::cbor::Input<$m>,
            entries: $crate::cbor::Entries,
            keys: $crate::cbor::Keys<$m>,
            /// True if the map need not be checked to be deterministic CBOR: the generation allows any CBOR, or the map has been
            /// checked.
            proven: bool,
            /// The set of fields that have been read, with one bit for each field.
            seen: u32,
            null: u32,
            $( $slot: $type, )+
        }

        #[doc = concat!("The fields of [`", stringify!($name), "`].")]
        #[expect(non_camel_case_types, reason = "a field is called what its slot is called")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $key_name {
            $( $slot, )+
        }

        impl $key_name {
            /// All fields in the order of the table. Readers are fastest if a map has its fields in this order.
            #[allow(dead_code, clippy::allow_attributes, reason = "not all tables are written")]
            pub(crate) const TABLE_ORDER: &'static [Self] = &[ $( Self::$slot, )+ ];

            pub(crate) const fn as_str(self) -> &'static str {
                match self { $( Self::$slot => $key, )+ }
            }

            /// Returns the `Field` with this key, which can find the value of the key in a map.
            #[allow(dead_code, clippy::allow_attributes, reason = "not all are looked up again")]
            pub(crate) const fn field(self) -> $crate::formats::ztensor::Field {
                $crate::formats::ztensor::Field(self.as_str())
            }

            /// Returns the field of this record whose key is `key`; `None` for an unknown key.
            #[inline]
            pub(crate) fn named(key: &[u8]) -> Option<Self> {
                $( if key == $key.as_bytes() { return Some(Self::$slot); } )+
                None
            }

            /// Returns the bit of this field in the sets `seen` and `null` of a reader.
            #[expect(clippy::as_conversions, reason = "a field's number is its place in the table")]
            const fn bit(self) -> u32 {
                1_u32.wrapping_shl(self as u32)
            }

            /// Appends the key of this field to `out` as a CBOR text.
            #[allow(dead_code, clippy::allow_attributes, reason = "not all tables are written")]
            #[inline]
            pub(crate) fn write(
                self,
                out: &mut $crate::cbor::Encoder,
            ) -> Result<(), $crate::error::OutOfMemory> {
                match self {
                    $( Self::$slot => {
                        out.raw(const { &$crate::cbor::spell::<{ $key.len() + 1 }>($key) })
                    } )+
                }
            }
        }

        const _: () = {
            use $crate::cbor::{Checked, Entries, Fault, Input, Keys, BytesLeft, Parsed};
            use $crate::cbor::{check_utf8, fail, key, skip, spell, starts};
            use $crate::formats::ztensor::context::ParseContext;
            use $crate::formats::ztensor::context::FieldType;
            use $crate::rules::{Limit, Rule};
            use $key_name as Field;

            const DETERMINISTIC: bool = $crate::formats::ztensor::table::table!(@is_deterministic $form);
            const _: () = assert!(
                !DETERMINISTIC || $crate::formats::ztensor::table::ascend(&[ $( $key, )+ ]),
                "the keys of the table must have the order of deterministic CBOR"
            );

            const _: () = assert!(
                [ $( $key, )+ ].len() <= 32,
                "the table must have at most 32 keys, one for each bit of a set of fields"
            );

            #[allow(dead_code, clippy::allow_attributes, reason = "the root alone is opened and finished by itself")]
            impl<$m> $reader<$m> {
                /// Reads the head of the map at `at`, and returns a reader of its fields.
                #[inline]
                pub(crate) fn open(cx: &ParseContext<'_>, at: Input<$m>) -> Checked<Self> {
                    let (input, entries) =
                        $crate::formats::ztensor::table::table!(@head $form $wrong_map, cx, at)?;
                    Ok(Self::of(at, (input, entries)))
                }

                #[inline]
                fn of(at: Input<$m>, (input, entries): (Input<$m>, Entries)) -> Self {
                    Self {
                        at,
                        input,
                        entries,
                        keys: Keys::of(input),
                        proven: !DETERMINISTIC,
                        seen: 0,
                        null: 0,
                        $( $slot: <$type as FieldType<$m, DETERMINISTIC>>::BLANK, )+
                    }
                }

                /// Returns the next known field and the input at its value. Fields may come in any order. Unknown fields
                /// are checked and skipped.
                pub(crate) fn next_field(
                    &mut self,
                    cx: &mut ParseContext<'_>,
                ) -> Checked<Option<(Field, Input<$m>)>> {
                    while self.entries.next(self.input) {
                        let input = self.input;
                        if !self.proven {
                            // A field that comes in the order of the table has a shortest head and an ascending key, so its
                            // key is deterministic.
                            if let Some((field, value)) = self.in_order() {
                                self.seen |= field.bit();
                                return Ok(Some((field, value)));
                            }
                            $crate::formats::ztensor::table::table!(@prove $form cx self.at $level);
                            self.proven = true;
                        }
                        let (value, name) = match key(input) {
                            Err(_) if DETERMINISTIC => {
                                let (value, ()) = skip(input, $level + 1, cx.limits.depth())?;
                                self.input = skip(value, $level + 1, cx.limits.depth())?.0;
                                continue;
                            }
                            read => read?,
                        };
                        let Some(field) = Field::named(name) else {
                            if !DETERMINISTIC {
                                check_utf8(BytesLeft::of(input), name)?;
                                self.keys.note(name);
                            }
                            self.input = skip(value, $level + 1, cx.limits.depth())?.0;
                            continue;
                        };
                        if self.seen & field.bit() != 0 {
                            return Err(Fault::new(Rule::DuplicateKey, BytesLeft::of(input)).into());
                        }
                        if !DETERMINISTIC {
                            self.keys.count();
                        }
                        self.seen |= field.bit();
                        return Ok(Some((field, value)));
                    }
                    Ok(None)
                }

                /// Returns the field at the input and the input at its value, if the field comes after all earlier fields
                /// in the table, and its key has the shortest head.
                fn in_order(&self) -> Option<(Field, Input<$m>)> {
                    $(
                        if self.seen < const { Field::$slot.bit() }
                            && let Some(value) = starts(self.input, &const { spell::<{ $key.len() + 1 }>($key) })
                        {
                            return Some((Field::$slot, value));
                        }
                    )+
                    None
                }

                /// Parses the value of `field`, which begins at `value`, and stores it in the reader.
                pub(crate) fn read_field(
                    &mut self,
                    cx: &mut ParseContext<'_>,
                    field: Field,
                    value: Input<$m>,
                ) -> Checked<()> {
                    match field {
                        $(
                            Field::$slot => {
                                match $crate::formats::ztensor::table::table!(@null $presence value) {
                                    Some(rest) => {
                                        self.null |= field.bit();
                                        self.input = rest;
                                    }
                                    None => (self.input, self.$slot) = <$type as FieldType<$m, DETERMINISTIC>>::parse(cx, $wrong, value)?,
                                }
                            }
                        )+
                    }
                    Ok(())
                }

                /// Returns whether `field` has been read.
                pub(crate) fn has(&self, field: Field) -> bool {
                    self.seen & field.bit() != 0
                }

                /// Ends the map after all of its fields have been read. Returns the input after the map, and the record.
                ///
                /// # Errors
                /// A required field is missing, or a key is a duplicate.
                #[inline]
                pub(crate) fn finish(self) -> Parsed<$m, $name<$m>> {
                    let rest = self.entries.end(self.input, self.at, Limit::Keys)?;
                    self.keys.finish()?;
                    let (at, given) = (self.at, self.seen & !self.null);
                    let record = $name {
                        $( $slot: {
                            let slot = self.$slot;
                            let is_given = given & const { Field::$slot.bit() } != 0;
                            $crate::formats::ztensor::table::table!(@finish $presence slot is_given at $($missing)?)
                        }, )+
                        marker: core::marker::PhantomData,
                    };
                    Ok((rest, record))
                }

                /// Reads the fields of the map that have not been read, in any order, and skips unknown fields.
                #[inline(never)]
                fn read_all(mut self, cx: &mut ParseContext<'_>) -> Checked<Self> {
                    while let Some((field, value)) = self.next_field(cx)? {
                        self.read_field(cx, field, value)?;
                    }
                    Ok(self)
                }
            }

            #[allow(dead_code, clippy::allow_attributes, reason = "the root is not read at once")]
            impl<$m> $name<$m> {
                /// Reads the map at `at`, and passes the record to `then`. Returning the record instead would copy it.
                #[inline]
                pub(crate) fn read<O>(
                    cx: &mut ParseContext<'_>,
                    at: Input<$m>,
                    then: impl FnOnce(&mut ParseContext<'_>, Self) -> Checked<O>,
                ) -> Parsed<$m, O> {
                    let (mut input, mut entries) =
                        $crate::formats::ztensor::table::table!(@head $form $wrong_map, cx, at)?;
                    let (mut seen, mut null) = (0, 0);
                    $( let mut $slot = <$type as FieldType<$m, DETERMINISTIC>>::BLANK; )+
                    // Most writers put the fields in the order of the table, with shortest heads, so this order is tried
                    // first.
                    'ordered: {
                        $(
                            if !entries.are_left() {
                                break 'ordered;
                            }
                            if let Some(value) = starts(input, &const { spell::<{ $key.len() + 1 }>($key) }) {
                                entries = entries.but_one();
                                seen |= const { Field::$slot.bit() };
                                match $crate::formats::ztensor::table::table!(@null $presence value) {
                                    Some(rest) => {
                                        null |= const { Field::$slot.bit() };
                                        input = rest;
                                    }
                                    None => (input, $slot) = <$type as FieldType<$m, DETERMINISTIC>>::parse(cx, $wrong, value)?,
                                }
                            }
                        )+
                    }
                    if !entries.are_over() {
                        // The keys so far are in the order of the table, so there are no duplicates among them.
                        let reader = $reader { seen, null, $( $slot, )+ ..$reader::of(at, (input, entries)) };
                        let reader = reader.read_all(cx)?;
                        input = reader.entries.end(reader.input, at, Limit::Keys)?;
                        reader.keys.finish()?;
                        (seen, null) = (reader.seen, reader.null);
                        $( $slot = reader.$slot; )+
                    }
                    let given = seen & !null;
                    let record = Self {
                        $( $slot: {
                            let is_given = given & const { Field::$slot.bit() } != 0;
                            $crate::formats::ztensor::table::table!(@finish $presence $slot is_given at $($missing)?)
                        }, )+
                        marker: core::marker::PhantomData,
                    };
                    Ok((input, then(cx, record)?))
                }
            }
        };
    };
    (@is_deterministic any) => { false };
    (@is_deterministic deterministic) => { true };
    (@prove any $cx:ident $self:ident.$at:ident $level:literal) => {};
    (@prove deterministic $cx:ident $self:ident.$at:ident $level:literal) => { $cx.prove($self.$at, $level)? };
    (@head any $wrong:path, $cx:ident, $at:ident) => {
        $crate::cbor::map_head($wrong, $cx.limits.keys(), $at)
    };
    // Keys must ascend, which makes them unique without memory, so their number needs no limit.
    (@head deterministic $wrong:path, $cx:ident, $at:ident) => {{
        let _ = &$cx;
        $crate::cbor::strict_map_head($wrong, $at)
    }};
    (@type required $type:ty) => { $type };
    (@type optional $type:ty) => { Option<$type> };
    (@type nullable $type:ty) => { Option<$type> };
    (@null nullable $value:ident) => { $value.strip_prefix(&[$crate::cbor::NULL]) };
    (@null $presence:ident $value:ident) => { None::<Input<'_>> };
    (@finish required $slot:ident $is_given:ident $at:ident $missing:path) => {
        if $is_given { $slot } else { return fail($missing, $at) }
    };
    (@finish $presence:ident $slot:ident $is_given:ident $at:ident) => {
        if $is_given { Some($slot) } else { None }
    };
}

/// Returns whether `keys` are in strictly ascending order, as deterministic CBOR sorts the keys of a map.
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

/// Returns whether `one` comes before `other` in deterministic CBOR: shorter keys come first, and keys of equal length are
/// ordered by their bytes.
const fn comes_before(one: &str, other: &str) -> bool {
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
