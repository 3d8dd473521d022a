ç
"serve*2.17.0√
.
xPlaceholder*
dtype0*
shape:
6
TRTEngineOp_0TRTEngineOpx*
segment_funcR
f

nativeExpTRTEngineOp_0
c
TRTEngineOp_1TRTEngineOpnative* 
serialized_segment
no graph*
segment_funcdef_namef

yNegTRTEngineOp_18
6

f
a
b
negativeNega"
bnegative:y:0"à*4
serving_default!

x
native:0
y
y:0