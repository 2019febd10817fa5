//! Copies of a request, over the buffers that follow those of the original.

use super::{Keys, KindColumn, Partitioned, Piece, Place, Post, Region};

impl Place {
    /// The same place, `buffers` buffers further on.
    fn moved(self, buffers: usize) -> Self {
        Self { buffer: self.buffer + buffers, ..self }
    }
}

impl Piece {
    fn moved(self, buffers: usize) -> Self {
        Self { at: self.at.moved(buffers), ..self }
    }
}

fn moved_columns(columns: &[(Place, u64)], buffers: usize) -> Vec<(Place, u64)> {
    columns.iter().map(|(base, width)| (base.moved(buffers), *width)).collect()
}

impl Region {
    fn moved(&self, buffers: usize) -> Self {
        let mut region = self.clone();
        match &mut region {
            Self::Contiguous(piece) => *piece = piece.moved(buffers),
            Self::Strided { base, .. } => *base = base.moved(buffers),
            Self::Bitmapped { bitmap, columns, .. } => {
                *bitmap = bitmap.moved(buffers);
                *columns = moved_columns(columns, buffers);
            }
            Self::BitmappedKinds { bitmap, columns, .. } => {
                *bitmap = bitmap.moved(buffers);
                *columns = columns.iter().map(|column| column.moved(buffers)).collect();
            }
            Self::PointerMapped { pointers, target, .. }
            | Self::Chased { pointers, target, .. } => {
                *pointers += buffers;
                *target += buffers;
            }
        }
        region
    }
}

impl Post {
    /// The same request, over data `buffers` buffers further on.
    pub fn moved(&self, buffers: usize) -> Self {
        let moved = |list: &[Region]| list.iter().map(|region| region.moved(buffers)).collect();
        match self {
            Self::Shared(destinations) => {
                Self::Shared(destinations.iter().map(|list| moved(list)).collect())
            }
            Self::Partitioned(list) => Self::Partitioned(Partitioned {
                ids: list.ids.moved(buffers),
                keys: list.keys.map(|keys| Keys { at: keys.at.moved(buffers), ..keys }),
                columns: moved_columns(&list.columns, buffers),
                kinds: list.kinds.iter().map(|column| column.moved(buffers)).collect(),
                ..*list
            }),
            Self::Own { to, regions } => Self::Own { to: *to, regions: moved(regions) },
        }
    }
}

impl KindColumn {
    fn moved(&self, by: usize) -> Self {
        match self {
            Self::Text { offsets, data, lengths } => {
                Self::Text { offsets: offsets + by, data: data + by, lengths: lengths + by }
            }
            Self::Bits { columns, packed } => Self::Bits {
                columns: columns.iter().map(|column| column + by).collect(),
                packed: packed + by,
            },
        }
    }
}
