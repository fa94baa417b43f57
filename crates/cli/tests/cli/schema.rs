//! Tests that the output of `--json` conforms to `docs/json.schema.json`.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use regex_lite::Regex;
use serde_json::{Value, json};

use crate::{corpus_folder, json_lines, zten};

/// A JSON Schema. Only the keywords that the schema uses are supported; others panic.
pub(crate) struct Schema(Value, RefCell<HashMap<String, Regex>>);

impl Schema {
    fn read() -> Self {
        Self::at("../../docs/json.schema.json")
    }

    /// Reads the schema at a path relative to the folder of the command's package.
    pub(crate) fn at(path: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        Self(serde_json::from_slice(&fs::read(path).unwrap()).unwrap(), RefCell::default())
    }

    /// Returns whether a document conforms to the whole schema.
    pub(crate) fn allows_whole(&self, document: &Value) -> bool {
        self.keeps(&self.0, document)
    }

    /// Returns whether a document conforms to the schema of `command`, a name in its `$defs`.
    fn allows(&self, command: &str, document: &Value) -> bool {
        self.keeps(&self.0["$defs"][command], document)
    }

    fn keeps(&self, schema: &Value, value: &Value) -> bool {
        let Value::Object(rules) = schema else { return schema == &json!(true) };
        // Cheap keywords come first, so that only one alternative of nested values is examined.
        let (deep, cheap): (Vec<_>, Vec<_>) = rules.iter().partition(|(keyword, _)| {
            matches!(keyword.as_str(), "additionalProperties" | "items" | "properties")
        });
        cheap
            .into_iter()
            .chain(deep)
            .all(|(keyword, rule)| self.keeps_one((keyword, rule), schema, value))
    }

    fn keeps_one(&self, (keyword, rule): (&str, &Value), schema: &Value, value: &Value) -> bool {
        match keyword {
            "$ref" => {
                let place = rule.as_str().unwrap().strip_prefix('#').unwrap();
                let referred = self.0.pointer(place);
                self.keeps(referred.unwrap_or_else(|| panic!("{place}")), value)
            }
            "anyOf" => rule.as_array().unwrap().iter().any(|schema| self.keeps(schema, value)),
            "oneOf" => {
                let schemas = rule.as_array().unwrap().iter();
                schemas.filter(|schema| self.keeps(schema, value)).count() == 1
            }
            "not" => !self.keeps(rule, value),
            "const" => value == rule,
            "enum" => rule.as_array().unwrap().contains(value),
            "type" => match rule {
                Value::Array(types) => types.iter().any(|name| is_of(name, value)),
                name => is_of(name, value),
            },
            "minimum" => value.as_f64().is_none_or(|number| number >= rule.as_f64().unwrap()),
            "maximum" => value.as_f64().is_none_or(|number| number <= rule.as_f64().unwrap()),
            "pattern" => {
                let rule = rule.as_str().unwrap();
                let mut patterns = self.1.borrow_mut();
                let pattern =
                    patterns.entry(rule.to_owned()).or_insert_with(|| Regex::new(rule).unwrap());
                value.as_str().is_none_or(|text| pattern.is_match(text))
            }
            "format" => value.as_str().is_none_or(|text| {
                let is_mark = |byte: &u8| b"-._~:/?#[]@!$&'()*+,;=%".contains(byte);
                match rule.as_str().unwrap() {
                    "uri-reference" | "uri" => text
                        .as_bytes()
                        .iter()
                        .all(|byte| byte.is_ascii_alphanumeric() || is_mark(byte)),
                    other => panic!("{other}"),
                }
            }),
            "minItems" => value
                .as_array()
                .is_none_or(|items| rule.as_u64().unwrap() <= u64::try_from(items.len()).unwrap()),
            "uniqueItems" => value.as_array().is_none_or(|items| {
                let texts: Vec<_> = items.iter().map(Value::to_string).collect();
                texts.iter().collect::<std::collections::HashSet<_>>().len() == items.len()
            }),
            "items" => value.as_array().into_iter().flatten().all(|item| self.keeps(rule, item)),
            "properties" => rule
                .as_object()
                .unwrap()
                .iter()
                .all(|(key, rule)| value.get(key).is_none_or(|value| self.keeps(rule, value))),
            "required" => {
                let mut keys = rule.as_array().unwrap().iter();
                keys.all(|key| value.get(key.as_str().unwrap()).is_some())
            }
            "propertyNames" => {
                let mut keys = value.as_object().into_iter().flatten();
                keys.all(|(key, _)| self.keeps(rule, &json!(key)))
            }
            "additionalProperties" => {
                let mut entries = value.as_object().into_iter().flatten();
                entries.all(|(key, value)| {
                    let known =
                        schema.get("properties").is_some_and(|known| known.get(key).is_some());
                    known || self.keeps(rule, value)
                })
            }
            "$schema" | "$defs" | "title" | "description" | "default" | "definitions" => true,
            other => panic!("{other}"),
        }
    }
}

fn is_of(name: &Value, value: &Value) -> bool {
    match name.as_str().unwrap() {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        other => panic!("{other}"),
    }
}

fn corpus(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(corpus_folder().join(folder)).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|end| end == "zt")).collect();
    paths.sort();
    paths
}

/// Returns the JSON documents that a command prints, one per line.
fn printed(command: &str, arguments: &[&Path]) -> Vec<Value> {
    let options = [command.as_ref(), "--json".as_ref()];
    let arguments = arguments.iter().map(|argument| argument.as_os_str());
    json_lines(&zten(options.into_iter().chain(arguments)).stdout)
}

#[test]
fn documents_keep_the_schema() {
    let schema = Schema::read();
    let accepted: Vec<PathBuf> = ["accept", "accept/0.1.0", "accept/1.1.1", "accept/1.2.3"]
        .iter()
        .flat_map(|folder| corpus(folder))
        .collect();
    let all: Vec<PathBuf> = accepted.iter().cloned().chain(corpus("reject")).collect();
    let of = |command, paths: &[PathBuf]| {
        printed(command, &paths.iter().map(PathBuf::as_path).collect::<Vec<_>>())
    };
    let folder = tempfile::tempdir().unwrap();
    let mut documents: Vec<(&str, Value)> = Vec::new();
    let mut add = |command, printed: Vec<Value>| {
        documents.extend(printed.into_iter().map(|document| (command, document)));
    };
    add("check", of("check", &all));
    for path in &accepted {
        add("ls", printed("ls", &[path]));
        add("stat", printed("stat", &[path]));
    }
    for path in accepted.iter().step_by(9) {
        add("hash", printed("hash", &[path]));
        let list = zten(["hash".as_ref(), accepted[0].as_os_str()]).stdout;
        let list = crate::files::write("schema.digests", &list);
        add("hash-check", printed("hash", &["--check".as_ref(), &list, path]));
        let listed = &printed("ls", &[path])[0];
        for object in listed["objects"].as_array().unwrap().iter().take(3) {
            if object["layout_known"] == true && object["components"].as_array().unwrap().len() == 1
            {
                let index = format!("--index={}", object["ordinal"]);
                add("cat", printed("cat", &[path, index.as_ref()]));
            }
        }
    }
    for two in accepted.windows(2).step_by(9) {
        add("diff", printed("diff", &[&two[0], &two[1]]));
        let patch = folder.path().join("schema.zt");
        let made = zten([
            "patch".as_ref(),
            "make".as_ref(),
            "--force".as_ref(),
            "-o".as_ref(),
            patch.as_os_str(),
            two[0].as_os_str(),
            two[1].as_os_str(),
        ]);
        if made.status.success() {
            let show = ["patch".as_ref(), "show".as_ref(), "--json".as_ref(), patch.as_os_str()];
            add("patch", json_lines(&zten(show).stdout));
        }
    }
    if cfg!(target_os = "linux") {
        add("sandbox", printed("sandbox", &[]));
    }
    let valid = accepted.first().unwrap();
    let summed = printed("check", &["--summary".as_ref(), valid, all.last().unwrap()]);
    add("summary", summed.last().cloned().into_iter().collect());
    for (command, document) in &documents {
        assert!(schema.allows(command, document), "{command}: {document}");
        // Each document contains the version of the schema. With another version, or with an unknown key, it does not conform.
        assert_eq!(document["schema"], 2);
        let mut other = document.clone();
        other["schema"] = json!(1);
        assert!(!schema.allows(command, &other));
        let mut other = document.clone();
        other["other"] = json!(1);
        assert!(!schema.allows(command, &other));
    }
    for command in ["check", "ls", "stat", "hash", "hash-check", "patch", "cat", "diff"] {
        let count = documents.iter().filter(|(of, _)| *of == command).count();
        assert!(count > 5, "{command}: {count}");
    }
}

#[test]
fn values_keep_the_schema() {
    let schema = Schema::read();
    for valid in [
        json!({ "$int": "1" }),
        json!({ "$float": "-Infinity" }),
        json!(1e300),
        json!(-0.0),
        json!({ "$tag": 1, "$value": { "a": [1.5, null] } }),
        json!({ "$map": ["$a", { "$simple": 23 }] }),
        json!({ "": "" }),
    ] {
        assert!(schema.allows("value", &valid), "{valid}");
    }
    for bad in [
        json!({ "$cbor": "1" }),
        json!({ "a": 1, "$b": 2 }),
        json!({ "$float": "1.0" }),
        json!({ "$tag": 1 }),
        json!({ "$bytes": "0" }),
        json!({ "$nan": "7FF8000000000000" }),
    ] {
        assert!(!schema.allows("value", &bad), "{bad}");
    }
}
