//! In what two objects of one name differ.

use zten::tools::{ElementType, StorageType};
use zten::{Component, Tensor};

use super::paired::{Pair, paired};
use crate::escape;
use crate::sums::{Sum, Sums};
use crate::words::{element, format, shape};

/// Roles that a line lists, at most.
const ROLES: usize = 16;

/// One way in which they differ.
pub(super) struct Change {
    /// In what: `shape`, `bytes`, ...
    pub(super) what: &'static str,
    /// From what to what, or in which components; empty where there is no more to say.
    pub(super) detail: String,
}

impl Change {
    /// Their attributes do.
    pub(super) fn attributes() -> Self {
        Self { what: "attributes", detail: String::new() }
    }
}

/// An object, and the sums of the file that it is in.
pub(super) struct Summed<'o, 'a> {
    pub(super) object: &'o Tensor<'a>,
    pub(super) sums: &'o Sums,
}

/// In what two objects differ but for their attributes.
pub(super) fn changes(old: &Summed<'_, '_>, new: &Summed<'_, '_>) -> Vec<Change> {
    let (one, other) = (old.object, new.object);
    let mut changes = Vec::new();
    let mut add = |what, detail| changes.push(Change { what, detail });
    if one.layout_name() != other.layout_name() {
        add("format", from_to(&format(one), &format(other)));
    }
    if !one.shape().iter().eq(other.shape()) {
        add("shape", from_to(&shape(one), &shape(other)));
    }
    let (mut types, mut roles, mut bytes) = (List::default(), List::default(), List::default());
    let role = |part: &(Component<'_>, Sum)| escape::role(part.0.role());
    let (old, new) = (old.sums.components(one), new.sums.components(other));
    // Where each has one component, it need not be named.
    let alone = old.len() == 1 && new.len() == 1;
    for pair in paired(old, new, |(component, _)| component.role()) {
        match pair {
            Pair::Old(part) => roles.add(|| format!("-{}", role(&part))),
            Pair::New(part) => roles.add(|| format!("+{}", role(&part))),
            Pair::Both(old, new) => {
                let (before, after) = (meaning(&old.0), meaning(&new.0));
                if before != after {
                    let turned = from_to(&element(before), &element(after));
                    types.add(|| if alone { turned } else { format!("{} {turned}", role(&old)) });
                }
                if old.1.sha256 != new.1.sha256 {
                    bytes.add(|| if alone { String::new() } else { role(&old) });
                }
            }
        }
    }
    for (what, list, bare) in
        [("type", types, alone), ("components", roles, false), ("bytes", bytes, alone)]
    {
        if list.count > 0 {
            let detail = list.text();
            add(what, if bare { detail } else { format!("({detail})") });
        }
    }
    changes
}

fn from_to(old: &str, new: &str) -> String {
    format!("{old} -> {new}")
}

/// What the elements of a component are. An index is a number, however wide it is stored.
fn meaning<'a>(component: &Component<'a>) -> ElementType<'a> {
    if component.is_index() {
        ElementType::Plain(StorageType::U64)
    } else {
        component.element_type()
    }
}

/// What differs from component to component: how often, and where first.
#[derive(Default)]
struct List {
    first: Vec<String>,
    count: usize,
}

impl List {
    fn add(&mut self, text: impl FnOnce() -> String) {
        self.count = self.count.saturating_add(1);
        if self.first.len() < ROLES {
            self.first.push(text());
        }
    }

    fn text(&self) -> String {
        let more = if self.count > self.first.len() { ", …" } else { "" };
        format!("{}{more}", self.first.join(", "))
    }
}
