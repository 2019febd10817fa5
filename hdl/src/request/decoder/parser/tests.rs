//! Layouts that are read as one another.

use drdma_abi::work_request::{Chain, Element, ElementSource, KindElement, RegionHeader};
use drdma_abi::{Field, Layout};

/// Granules that are looked at as if they were others have fields of the same places.
#[test]
fn fields_that_are_read_as_others_have_their_places() {
    let same = |a: Field, b: Field| {
        assert_eq!((a.start, a.width), (b.start, b.width), "{} and {}", a.name, b.name);
    };
    for (source, chain, header) in
        [("addr", "end", "addr"), ("count", "next", "count"), ("lkey", "limit", "lkey")]
    {
        same(ElementSource::field(source), RegionHeader::field(header));
        same(Chain::field(chain), RegionHeader::field(header));
    }
    for field in ["offset", "lkey"] {
        same(KindElement::field(field), Element::field(field));
    }
}
