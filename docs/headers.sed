# What Doxygen would misread in a header.
# The first comment speaks of the file, which it believes only after \file. The line of #pragma once goes, so that line
# numbers stay as they are.
1s|^///|/// \\file\n///|
/^#pragma once$/d
# A comment behind several members, "Tensor weight, bias;  ///< (C)", is theirs all and not of the last alone: each
# becomes a declaration of its own.
:split
s|^( *)([A-Za-z0-9_:<>]+) ([^;/(]*), ([^,;/(]*);(.*)  ///< (.*)$|\1\2 \3; /** \6 */ \2 \4;\5  ///< \6|
t split
s|^( *)([A-Za-z0-9_:<>]+ [^;/(]*;)( /\*\*.*)  ///< (.*)$|\1/** \4 */ \2\3|
