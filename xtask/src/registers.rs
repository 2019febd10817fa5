//! `docs/register-map.md`, from the tables in `drdma-abi`.

use std::{fmt::Write as _, fs, path::Path};

use drdma_abi::{
    ABI_HASH, Description, LAYOUTS, Layout, Order,
    completion::Status,
    described::REGION_TABLES,
    receive::{FEATURES, RECEIVE_TABLES},
    register::{Access, COUNTERS, REGISTERS, TABLES},
    roce,
};

use crate::Error;

const HEAD: &str = "\
# The register map and the layouts

<!-- Written by `cargo xtask registers` from the crate `drdma-abi`; do not edit. -->

Every register access is 32 bits wide and naturally aligned, in BAR2. A 64-bit value is two words,
the low one first. Reads of anything that is not listed return 0, writes to it are ignored.
";

/// Writes the file.
pub fn write(root: &Path) -> Result<(), Error> {
    let path = root.join("docs/register-map.md");
    fs::write(&path, document()).map_err(|source| Error::File { path: path.clone(), source })?;
    eprintln!("wrote {}", path.display());
    Ok(())
}

/// The whole document.
pub fn document() -> String {
    let mut text = HEAD.to_owned();
    let _ = writeln!(text, "\nABI hash: `{ABI_HASH:#018x}`");
    text +=
        "\n## Registers\n\n| offset | name | access | reset | meaning |\n|---|---|---|---|---|\n";
    for register in REGISTERS.iter().chain([&FEATURES]) {
        let access = match register.access {
            Access::ReadOnly => "RO",
            Access::ReadWrite => "RW",
            Access::WriteOnly => "WO",
        };
        let (name, doc) = (register.name, prose(register.doc));
        let reset = match name {
            "ABI_HASH_LOW" => ABI_HASH as u32,
            "ABI_HASH_HIGH" => (ABI_HASH >> 32) as u32,
            _ => register.reset,
        };
        let _ = writeln!(
            text,
            "| {:#06x} | `{name}` | {access} | {reset:#x} | {doc} |",
            register.offset
        );
    }
    text += "\n## Counters\n\n64 bits each, read only; they wrap.\n\n";
    text += "| offset | name | meaning |\n|---|---|---|\n";
    for counter in COUNTERS {
        let doc = prose(counter.doc);
        let _ = writeln!(text, "| {:#06x} | `{}` | {doc} |", counter.offset, counter.name);
    }
    text += "\n## Tables\n\nThe last word of an entry makes the new entry effective.\n\n";
    text += "| offset | name | entries | bytes an entry | meaning |\n|---|---|---|---|---|\n";
    for table in TABLES.iter().chain(RECEIVE_TABLES).chain(REGION_TABLES) {
        let _ = writeln!(
            text,
            "| {:#08x} | `{}` | {} | {} | {} |",
            table.offset,
            table.name,
            table.entries,
            table.entry_size,
            prose(table.doc)
        );
    }
    text += "\n## Layouts in host memory and in the tables\n\n\
             Little-endian; a field's first bit is counted from the least significant bit of the \
             layout's first byte.\n";
    LAYOUTS.iter().for_each(|layout| fields(&mut text, layout));
    text += "\n## Headers on the wire\n\n\
             Network byte order; a field's first bit is counted from the most significant bit of \
             the header's first byte.\n";
    headers().iter().for_each(|layout| fields(&mut text, layout));
    text += "\n## Completion statuses\n\n| code | name |\n|---|---|\n";
    for status in Status::ALL {
        let _ = writeln!(text, "| {} | `{}` |", *status as u8, status.name());
    }
    text
}

fn headers() -> [Description; 11] {
    fn describe<L: Layout>() -> Description {
        Description { name: L::NAME, size: L::SIZE, order: L::ORDER, fields: L::FIELDS }
    }
    [
        describe::<roce::Ethernet>(),
        describe::<roce::Ipv4>(),
        describe::<roce::Udp>(),
        describe::<roce::Bth>(),
        describe::<roce::Reth>(),
        describe::<roce::Deth>(),
        describe::<roce::ImmDt>(),
        describe::<roce::Aeth>(),
        describe::<roce::AtomicEth>(),
        describe::<roce::AtomicAckEth>(),
        describe::<roce::Ieth>(),
    ]
}

fn fields(text: &mut String, layout: &Description) {
    let _ = writeln!(text, "\n### {}: {} bytes\n", layout.name, layout.size);
    text.push_str("| byte | bits | field | meaning |\n|---|---|---|---|\n");
    for field in layout.fields {
        let (byte, bit) = (field.start / 8, field.start % 8);
        let bits = match (layout.order, field.width) {
            (_, width) if bit == 0 && width % 8 == 0 => width.to_string(),
            (Order::Little, 1) => format!("bit {bit}"),
            (Order::Little, width) => format!("bits {} to {bit}", bit + width - 1),
            (Order::Network, 1) => format!("bit {}", 7 - bit),
            (Order::Network, width) if bit + width <= 8 => {
                format!("bits {} to {}", 7 - bit, 8 - bit - width)
            }
            (Order::Network, width) => format!("{width} from bit {}", 7 - bit),
        };
        let _ = writeln!(text, "| {byte} | {bits} | `{}` | {} |", field.name, prose(field.doc));
    }
}

/// A doc comment as one line of Markdown, without the links that only rustdoc follows.
fn prose(doc: &str) -> String {
    let text = doc.replace("[`crate::", "[`").replace("[`", "`").replace("`]", "`");
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_register_map_is_that_of_the_abi() {
        let path = crate::root().join("docs/register-map.md");
        let committed = fs::read_to_string(path).unwrap_or_default();
        assert!(committed == document(), "stale: run `cargo xtask registers`");
    }

    #[test]
    fn every_layout_is_listed_with_every_field() {
        let text = document();
        for layout in LAYOUTS.iter().chain(&headers()) {
            assert!(text.contains(&format!("### {}: {} bytes", layout.name, layout.size)));
            for field in layout.fields {
                assert!(text.contains(&format!("| `{}` |", field.name)), "{}", field.name);
            }
        }
    }
}
