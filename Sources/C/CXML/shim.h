// SPDX-License-Identifier: Apache-2.0

// libxml2's SAX interface. One importer: CarrelXML.
#ifndef CARREL_CXML_H
#define CARREL_CXML_H

#include <libxml/HTMLparser.h>
#include <libxml/parser.h>
#include <libxml/parserInternals.h>
#include <libxml/xmlerror.h>

#endif
