//! The pages about rules: one for each rule, one for each group of rules, and one that lists the groups.

use std::collections::BTreeMap;

use zten::rules::{Class, Row, Scope};
use zten_report::catalog::{classes_in_pickles, is_of_caller, origin, rows};

use crate::Result;
use crate::examples::{Example, Examples, Session};
use crate::markdown::shown;
use crate::sources::Mentions;
use crate::writers::writers;

/// The rule about features that zten was built without. No file of the corpus can break it.
const OF_THE_BUILD: &str = "unsupported-feature";

/// A group of rules that share a page: the rules of one format, or the rules about one topic.
struct Group {
    /// The name of the page in the folder `rules`.
    file: &'static str,
    title: &'static str,
    /// A sentence about all rules of the group.
    about: &'static str,
}

/// All groups, in the order of the site.
const GROUPS: [Group; 11] = [
    Group {
        file: "ztensor",
        title: "zTensor",
        about: "Rules that every zTensor file keeps. Each page names the generations to which its rule applies.",
    },
    Group {
        file: "canonical",
        title: "Canonical form of zTensor",
        about: "Rules that a zTensor file in canonical form keeps. `zten check --canonical` checks these rules.",
    },
    Group {
        file: "limits",
        title: "Limits and unsupported features",
        about: "Limits that a caller can set, and features of zTensor that zten does not read.",
    },
    Group {
        file: "safetensors",
        title: "safetensors",
        about: "Rules that every safetensors file keeps.",
    },
    Group {
        file: "index-files",
        title: "Index files",
        about: "Rules that the index of a model in several files keeps.",
    },
    Group { file: "gguf", title: "GGUF", about: "Rules that every GGUF file keeps." },
    Group {
        file: "numpy",
        title: "NumPy, and zip archives",
        about: "Rules that `.npy` and `.npz` files keep. The rules on zip archives also hold for checkpoints of PyTorch.",
    },
    Group {
        file: "pytorch",
        title: "PyTorch",
        about: "Rules that every checkpoint of PyTorch keeps.",
    },
    Group {
        file: "all-formats",
        title: "All formats",
        about: "Rules for files of all formats except zTensor, which has rules of its own.",
    },
    Group {
        file: "not-read",
        title: "Formats that are not read",
        about: "Formats that zten recognizes and does not read.",
    },
    Group {
        file: "callers",
        title: "Policies, lists, stores and patches",
        about: "What zten checks only if the caller asks for it: with a policy or a list of digests, in a folder or a store, or of a patch.",
    },
];

/// A page of the site: its path without `.md`, in the folder `rules`, and its text.
pub(crate) type Page = (String, String);

/// The pages about rules, and what they need in the rest of the site.
pub(crate) struct Pages {
    /// All pages. The first one lists the groups.
    pub all: Vec<Page>,
    /// The lines of the table of contents for these pages.
    pub summary: String,
    /// The files of the corpus that pages link to.
    pub files: Vec<String>,
}

/// Makes the pages about the rules. `examples` runs `zten` on files of the corpus, and `mentions` knows the other pages that
/// name a rule.
///
/// # Errors
/// Fails if the command cannot be run, or does not print what the corpus says, or if no file of the corpus is about a rule that
/// needs an example.
pub(crate) fn pages(examples: &Examples, mentions: &Mentions) -> Result<Pages> {
    let mut members: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for row in rows() {
        members.entry(group(row)).or_default().push(row);
    }
    let mut pages = Vec::new();
    let mut files = Vec::new();
    let mut list = String::from("# The rules\n\n");
    list.push_str(&format!(
        "Every finding of zten names a rule. These pages are about all {} rules, limits and notes: what a file that keeps the rule does, where the rule comes from, a small file that breaks it with the message about that file, who writes such files if that is known, and what to do. `zten explain` prints the same texts.\n\n",
        rows().count()
    ));
    list.push_str("| group | rules |\n| --- | --- |\n");
    let mut summary = String::from("- [The rules](rules/index.md)\n");
    for Group { file, title, about } in &GROUPS {
        let members = members.remove(file).unwrap_or_default();
        list.push_str(&format!("| [{title}]({file}.md) | {} |\n", members.len()));
        summary.push_str(&format!("  - [{title}](rules/{file}.md)\n"));
        let mut text =
            format!("# Rules: {title}\n\n{about}\n\n| rule | a valid file |\n| --- | --- |\n");
        for row in members {
            let (id, holds) = (row.id(), shown(row.holds()));
            let note = if row.class() == Class::Note { " (a note)" } else { "" };
            text.push_str(&format!("| [`{id}`]({id}/index.md) | {holds}{note} |\n"));
            summary.push_str(&format!("    - [{id}](rules/{id}/index.md)\n"));
            let example = examples.example(id)?;
            // Rules about what a caller asks for may need several files, or a command of their own, and so may have
            // no example.
            if example.is_none() && *file != "callers" && id != OF_THE_BUILD {
                return Err(format!("no file of the corpus is about the rule {id}").into());
            }
            pages.push((format!("{id}/index"), page(row, example.as_ref(), examples, mentions)));
            files.extend(example.into_iter().flat_map(|example| example.files));
        }
        pages.push(((*file).to_owned(), text));
    }
    pages.insert(0, ("index".to_owned(), list));
    Ok(Pages { all: pages, summary, files })
}

/// Returns the name of the page of the group that `row` belongs to.
fn group(row: &Row) -> &'static str {
    match row.scope() {
        Scope::Other("safetensors") => "safetensors",
        Scope::Other("index of safetensors") => "index-files",
        Scope::Other("GGUF") => "gguf",
        Scope::Other(".npy, .npz" | ".npz" | ".npz, PyTorch") => "numpy",
        Scope::Other("PyTorch") => "pytorch",
        Scope::Other("not read") => "not-read",
        Scope::Other("all that are read") => "all-formats",
        Scope::Other(_) => "callers",
        _ if row.id().starts_with("canonical-") => "canonical",
        _ if row.class() == Class::Invalid => "ztensor",
        _ => "limits",
    }
}

/// Returns the text of the page about `row`.
fn page(row: &Row, example: Option<&Example>, examples: &Examples, mentions: &Mentions) -> String {
    let id = row.id();
    let is_note = row.class() == Class::Note;
    let keeps =
        if row.class() == Class::Unsupported { "A file that zten reads" } else { "A valid file" };
    let mut text = format!("# {id}\n\n**{keeps}:** {}\n\n", shown(row.holds()));
    let consequence = match row.class() {
        Class::Invalid => "the file is invalid",
        Class::Unsupported => "the file is unsupported: it may be valid",
        Class::Limit => "the file exceeds a limit: it may be valid",
        Class::Note => "the file is valid, with a note",
    };
    let scope = match row.scope() {
        Scope::Other(formats) => ("formats", formats),
        own => ("generations", own.as_str()),
    };
    text.push_str("| | |\n| --- | --- |\n");
    text.push_str(&format!("| if broken | {consequence} |\n"));
    text.push_str(&format!("| message | {} |\n", shown(&row.broken().replace("{}", "N"))));
    text.push_str(&format!("| {} | {} |\n", scope.0, shown(scope.1)));
    text.push_str(&format!("| source | {} |\n", shown(&origin(row))));

    text.push_str(if is_note {
        "\n## A file with this note\n\n"
    } else {
        "\n## A file that breaks the rule\n\n"
    });
    match example {
        Some(example) => text.push_str(&section(example, examples.count(id))),
        None if id == OF_THE_BUILD => {
            text.push_str("Only a zten that was built without some of its features rejects a file by this rule.\n");
        }
        None => text.push_str("No single file can break this rule: zten checks it on several files, or on a file and what the caller gives with it.\n"),
    }

    text.push_str("\n## Who writes such files\n\n");
    text.push_str(&writers_of(row, examples));

    text.push_str("\n## What to do\n\n");
    text.push_str(&shown(row.advice()));
    text.push('\n');
    if id == "torch-global" {
        text.push_str(&format!("\n### Classes\n\n{}\n", shown(&classes_in_pickles())));
    }

    let pages = mentions.of(id);
    if !pages.is_empty() {
        text.push_str("\n## Where it is explained\n\n");
        for (path, title) in pages {
            text.push_str(&format!("- [{}](../../{path})\n", shown(title)));
        }
    }
    text
}

/// Returns the section about an example. `count` is the number of files of the corpus that break the rule.
fn section(example: &Example, count: usize) -> String {
    let mut text = String::new();
    if let Some((name, content)) = example.written {
        text.push_str(&format!("With the file `{name}`:\n\n```text\n{content}```\n\n"));
    }
    text.push_str(&block(&example.broken));
    if let Some(valid) = &example.valid {
        text.push_str(match example.written {
            Some(_) => "\nA file that keeps the rule:\n\n",
            None => "\nA similar file that keeps the rule:\n\n",
        });
        text.push_str(&block(valid));
    }
    if !example.files.is_empty() {
        let links = example.files.iter().map(|file| {
            let name = file.rsplit('/').next().unwrap_or(file);
            format!("[{}](../../{})", shown(name), file.replace(' ', "%20"))
        });
        let links: Vec<_> = links.collect();
        let files = if count == 1 { "no other file".to_owned() } else { format!("{count} files") };
        text.push_str(&format!(
            "\nTo download: {}. [The corpus](../../corpus/index.md) has {files} for this rule.\n",
            links.join(", ")
        ));
    }
    text
}

/// Returns `session` as a block of code.
fn block(session: &Session) -> String {
    format!("```console,wrap\n$ zten {}\n{}```\n", session.arguments, session.printed)
}

/// Returns the paragraphs about the writers of files that break the rule `row`.
fn writers_of(row: &Row, examples: &Examples) -> String {
    let id = row.id();
    let mut text = String::new();
    for (release, file) in examples.of_reference_writers(id) {
        text.push_str(&format!(
            "- The reference library, release {release}, wrote `corpus/{file}`.\n"
        ));
    }
    for writer in writers().filter(|writer| writer.rule == id) {
        // Only Markdown pages are part of the site, so other sources get no link.
        let source = match writer.source.strip_suffix(".md") {
            Some(page) => format!(" ([source](../../{page}.md))"),
            None => String::new(),
        };
        text.push_str(&format!("- {}{source}\n", writer.sentence));
    }
    if text.is_empty() {
        text.push_str(match (group(row), row.class()) {
            _ if is_of_caller(row) => "Any program may write such a file: the caller decides what a file must meet, with a policy or a list of digests.\n",
            ("canonical", _) => "Any program: a valid file need not be in canonical form.\n",
            ("not-read", _) => "The programs of that format.\n",
            (_, Class::Limit) => "Any program: a file beyond a limit may be valid.\n",
            (_, Class::Unsupported) => "Programs that write what zten does not read: such a file may be valid.\n",
            (_, Class::Note) => "Any program may write such a file, because it is valid.\n",
            _ => "The project knows of no program that writes such files. Downloads and disks damage files, too.\n",
        });
    }
    text
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_rule_is_in_a_group_and_every_group_has_a_rule() {
        let mut counts: BTreeMap<&str, usize> =
            GROUPS.iter().map(|group| (group.file, 0)).collect();
        for row in rows() {
            *counts.get_mut(group(row)).unwrap() += 1;
            // The page of a rule with the name of a group would have the address of the page about the group.
            assert!(GROUPS.iter().all(|group| group.file != row.id()), "{}", row.id());
        }
        assert!(counts.values().all(|count| *count > 0), "{counts:?}");
        // The rules of zTensor and of the other formats must not fall into the group of rules about callers. A new
        // format needs a group of its own.
        for row in zten::rules::rows().chain(zten::formats::rules::rows()) {
            assert_ne!(group(row), "callers", "{}: {:?}", row.id(), row.scope());
        }
    }
    /// A page must not say that no program writes a file that programs are free to write.
    #[test]
    fn writers_are_named_or_described_by_the_kind_of_rule() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let examples = Examples::new(&root, &std::env::current_exe().unwrap()).unwrap();
        for (id, wanted) in [
            ("policy-size", "the caller decides"),
            ("list-changed", "the caller decides"),
            ("store-digest", "knows of no program"),
            ("store-unfinished", "llama.cpp"),
            ("patch-version", "what zten does not read"),
            ("format-unknown", "what zten does not read"),
            ("format-html", "Servers"),
            ("index-key", "it is valid"),
            ("torch-global", "Lightning"),
            ("limit-header", "beyond a limit"),
            ("format-keras", "of that format"),
        ] {
            let text = writers_of(zten_report::catalog::find(id).unwrap(), &examples);
            assert!(text.contains(wanted), "{id}: {text}");
        }
    }
}
