//! Results for whole rows, for people.

use super::{
    super::report::{costs_table, number},
    Options, Outcome, Strings,
    table::{COLUMNS, ROW, Type},
};

/// The table of results, and a summary.
pub fn render(outcome: &Outcome, options: &Options, device: &str) -> String {
    let rows = number(outcome.rows.rows);
    let packed = number(options.mtu as u64 / ROW as u64);
    let mut header =
        vec!["\nrows\nrows a message".to_owned(), format!("numbers and views\n{rows}\n{packed}")];
    let mut costs = vec![&outcome.rows];
    for Strings { column, cost } in &outcome.strings {
        header.push(format!("strings of {column}\n{rows}\nall"));
        costs.push(cost);
    }
    let table = costs_table(header, &costs);
    let texts = COLUMNS.iter().filter(|(_, kind)| matches!(kind, Type::Text(_))).count();
    let (columns, numbers) = (COLUMNS.len(), COLUMNS.len() - texts);
    let theirs: Vec<String> = outcome.receivers.iter().map(|rows| number(*rows)).collect();
    let verified = &outcome.verified;
    format!(
        "{table}\n\
         Numbers and views: {numbers} columns of integers, decimals and dates, and {texts} of strings as views of 16 B,\n\
         which hold strings of up to 12 B (Arrow's Utf8View). The card hashes l_orderkey, and each receiver's card\n\
         appends the rows to its columns. Strings of columns with longer ones are WRITten to each receiver, one\n\
         behind the other, with their lengths. Cycles run from a doorbell until all is acknowledged, summed over\n\
         batches, each of which waits for the one before.\n\n\
         Whole LINEITEM, {rows} rows of {columns} columns, is in columns at {receivers} receivers ({device}): {theirs} rows.\n\
         Each of the {values} values is the one that was sent, {strings} strings of {string_bytes} B among them.\n",
        receivers = options.receivers,
        theirs = theirs.join(", "),
        values = number(verified.values),
        strings = number(verified.strings),
        string_bytes = number(verified.string_bytes),
    )
}
