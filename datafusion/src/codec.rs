//! The codec of this crate's operators, by which plans with them get to workers.

use std::sync::Arc;

use datafusion::{
    common::{Result, internal_datafusion_err, internal_err},
    execution::TaskContext,
    physical_plan::ExecutionPlan,
};
use datafusion_proto::{
    physical_plan::{
        DefaultPhysicalExtensionCodec, PhysicalExtensionCodec, PhysicalPlanDecodeContext,
        PhysicalProtoConverterExtension,
    },
    protobuf::PhysicalExprNode,
};
use prost::Message;

use crate::{
    node::{DrdmaSendExec, Kind},
    worker::TaskHead,
};

/// First bytes of an operator of this crate.
const MAGIC: &[u8; 8] = b"drdma/1\0";

/// The codec of [`DrdmaSendExec`]: the kind and its number, then the expressions, each behind its length.
#[derive(Debug)]
pub(crate) struct Codec;

impl PhysicalExtensionCodec for Codec {
    fn try_decode(
        &self,
        buf: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        ctx: &TaskContext,
        proto_converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let ([input], Some(mut rest)) = (inputs, buf.strip_prefix(MAGIC)) else {
            return internal_err!(
                "{} B and {} inputs are no operator of drdma",
                buf.len(),
                inputs.len()
            );
        };
        let is_shuffle = number(&mut rest)? == 1;
        let count = number(&mut rest)?;
        let mut exprs = Vec::new();
        let codec = DefaultPhysicalExtensionCodec {};
        let context = PhysicalPlanDecodeContext::new(ctx, &codec);
        while !rest.is_empty() {
            let len = number(&mut rest)?;
            let Some((bytes, behind)) = rest.split_at_checked(len) else {
                return internal_err!("an expression of {len} B, and {} follow", rest.len());
            };
            rest = behind;
            let expr = PhysicalExprNode::decode(bytes)
                .map_err(|error| internal_datafusion_err!("an expression: {error}"))?;
            exprs.push(proto_converter.proto_to_physical_expr(&expr, &input.schema(), &context)?);
        }
        let kind = match is_shuffle {
            true => Kind::Shuffle(exprs, count),
            false => Kind::Broadcast(count),
        };
        let node = DrdmaSendExec::new(input.clone(), kind);
        if let Some(head) = ctx.session_config().get_extension::<TaskHead>() {
            head.set(node.head());
        }
        Ok(Arc::new(node))
    }

    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        buf: &mut Vec<u8>,
        proto_converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        let Some(node) = node.downcast_ref::<DrdmaSendExec>() else {
            return internal_err!("{} is no operator of drdma", node.name());
        };
        buf.extend_from_slice(MAGIC);
        let (tag, count, exprs) = match node.kind() {
            Kind::Shuffle(exprs, partitions) => (1_u64, *partitions, exprs.as_slice()),
            Kind::Broadcast(consumers) => (2, *consumers, &[][..]),
        };
        buf.extend_from_slice(&tag.to_le_bytes());
        buf.extend_from_slice(&(count as u64).to_le_bytes());
        for expr in exprs {
            let codec = DefaultPhysicalExtensionCodec {};
            let bytes = proto_converter.physical_expr_to_proto(expr, &codec)?.encode_to_vec();
            buf.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
            buf.extend_from_slice(&bytes);
        }
        Ok(())
    }
}

/// Takes a number off the front.
fn number(bytes: &mut &[u8]) -> Result<usize> {
    let Some((number, rest)) = bytes.split_first_chunk() else {
        return internal_err!("a number is missing, {} B follow", bytes.len());
    };
    *bytes = rest;
    Ok(u64::from_le_bytes(*number) as usize)
}
