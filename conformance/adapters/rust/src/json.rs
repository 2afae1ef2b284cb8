//! As much JSON as the protocol needs: numbers are integers. Take serde_json instead if your crate has it.

use std::fmt;
use std::iter::Peekable;
use std::str::Chars;

#[derive(Clone, Debug)]
pub enum Json {
    Null,
    Bool(bool),
    Number(i64),
    String(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    pub fn get(&self, name: &str) -> Option<&Json> {
        match self {
            Json::Object(fields) => fields.iter().find(|(key, _)| key == name).map(|(_, value)| value),
            _ => None,
        }
    }

    pub fn as_str(&self) -> Option<&str> {
        match self {
            Json::String(text) => Some(text),
            _ => None,
        }
    }

    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Json::Number(value) => Some(*value),
            _ => None,
        }
    }

    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Json::Bool(value) => Some(*value),
            _ => None,
        }
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Json::String(text.into())
    }
}

impl From<i32> for Json {
    fn from(value: i32) -> Self {
        Json::Number(value.into())
    }
}

pub fn object<const N: usize>(fields: [(&str, Json); N]) -> Json {
    Json::Object(fields.into_iter().map(|(name, value)| (name.into(), value)).collect())
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Json::Null => write!(f, "null"),
            Json::Bool(value) => write!(f, "{value}"),
            Json::Number(value) => write!(f, "{value}"),
            Json::String(text) => quote(text, f),
            Json::Array(values) => {
                write!(f, "[")?;
                for (i, value) in values.iter().enumerate() {
                    write!(f, "{}{value}", if i == 0 { "" } else { "," })?;
                }
                write!(f, "]")
            }
            Json::Object(fields) => {
                write!(f, "{{")?;
                for (i, (name, value)) in fields.iter().enumerate() {
                    write!(f, "{}", if i == 0 { "" } else { "," })?;
                    quote(name, f)?;
                    write!(f, ":{value}")?;
                }
                write!(f, "}}")
            }
        }
    }
}

fn quote(text: &str, f: &mut fmt::Formatter) -> fmt::Result {
    write!(f, "\"")?;
    for c in text.chars() {
        match c {
            '"' | '\\' => write!(f, "\\{c}")?,
            c if c < ' ' => write!(f, "\\u{:04x}", c as u32)?,
            c => write!(f, "{c}")?,
        }
    }
    write!(f, "\"")
}

pub fn parse(text: &str) -> Result<Json, String> {
    let mut chars = text.chars().peekable();
    let value = parse_value(&mut chars)?;
    skip_space(&mut chars);
    match chars.next() {
        None => Ok(value),
        Some(c) => Err(format!("{c:?} after the value")),
    }
}

fn skip_space(chars: &mut Peekable<Chars>) {
    while chars.next_if(|c| " \t\r\n".contains(*c)).is_some() {}
}

fn parse_value(chars: &mut Peekable<Chars>) -> Result<Json, String> {
    skip_space(chars);
    match chars.peek() {
        Some('{') => parse_object(chars),
        Some('[') => {
            let mut values = vec![];
            parse_list(chars, ']', |chars| {
                values.push(parse_value(chars)?);
                Ok(())
            })?;
            Ok(Json::Array(values))
        }
        Some('"') => Ok(Json::String(parse_string(chars)?)),
        _ => {
            let mut word = String::new();
            while let Some(c) = chars.next_if(|c| c.is_ascii_alphanumeric() || *c == '-') {
                word.push(c);
            }
            match word.as_str() {
                "null" => Ok(Json::Null),
                "true" => Ok(Json::Bool(true)),
                "false" => Ok(Json::Bool(false)),
                _ => word.parse().map(Json::Number).map_err(|error| format!("{word:?}: {error}")),
            }
        }
    }
}

fn parse_object(chars: &mut Peekable<Chars>) -> Result<Json, String> {
    let mut fields = vec![];
    parse_list(chars, '}', |chars| {
        skip_space(chars);
        let name = parse_string(chars)?;
        skip_space(chars);
        expect(chars, ':')?;
        fields.push((name, parse_value(chars)?));
        Ok(())
    })?;
    Ok(Json::Object(fields))
}

/// A bracket, items with commas between them, and the closing bracket.
fn parse_list(
    chars: &mut Peekable<Chars>,
    close: char,
    mut item: impl FnMut(&mut Peekable<Chars>) -> Result<(), String>,
) -> Result<(), String> {
    chars.next();
    skip_space(chars);
    if chars.next_if_eq(&close).is_some() {
        return Ok(());
    }
    loop {
        item(chars)?;
        skip_space(chars);
        if chars.next_if_eq(&close).is_some() {
            return Ok(());
        }
        expect(chars, ',')?;
    }
}

fn expect(chars: &mut Peekable<Chars>, wanted: char) -> Result<(), String> {
    match chars.next() {
        Some(c) if c == wanted => Ok(()),
        found => Err(format!("found {found:?}, expected {wanted:?}")),
    }
}

/// A string; escapes of surrogate pairs are joined, and a lone one, which is never sent, becomes U+FFFD.
fn parse_string(chars: &mut Peekable<Chars>) -> Result<String, String> {
    expect(chars, '"')?;
    let mut units: Vec<u16> = vec![];
    loop {
        let c = match chars.next().ok_or("unfinished string")? {
            '"' => return Ok(String::from_utf16_lossy(&units)),
            '\\' => match chars.next().ok_or("unfinished escape")? {
                'u' => {
                    let hex: String = chars.take(4).collect();
                    units.push(u16::from_str_radix(&hex, 16).map_err(|error| format!("\\u{hex}: {error}"))?);
                    continue;
                }
                'b' => '\u{8}',
                'f' => '\u{c}',
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                c => c,
            },
            c => c,
        };
        units.extend_from_slice(c.encode_utf16(&mut [0; 2]));
    }
}
