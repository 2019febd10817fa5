//! A card behind one trait: registers, DMA-able memory, progress.
